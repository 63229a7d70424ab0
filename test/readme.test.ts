import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { namedPaths, plainDefault, settingRows } from './_support/read-readme.ts';

const projectRoot = fileURLToPath(new URL('..', import.meta.url));
const readmePath = `${projectRoot}README.md`;

function readReadme(): string {
  if (!existsSync(readmePath)) throw new Error('README.md is missing: it holds the table of settings and the way in');
  return readFileSync(readmePath, 'utf8');
}

describe('the README', () => {
  test('lists every setting once, with its default, and none that does not exist', async () => {
    const { settings } = await import('../src/config.ts');
    const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
    const stated = settings.map((setting) => ({ name: setting.name, default: plainDefault(setting.default) }));
    expect(settingRows(readReadme()).toSorted(byName)).toEqual(stated.toSorted(byName));
  });

  test('shows a key in every command that changes the gateway', () => {
    const commands =
      readReadme()
        .replaceAll('\\\n', ' ')
        .match(/curl .*(?:api\/(?:keys|tool-servers|presets|v1\/configs)).*/g) ?? [];
    expect(commands.length).toBeGreaterThan(4);
    expect(commands.filter((command) => !/-H "(?:x-api-key: |authorization: Bearer )\$\w+"/.test(command))).toEqual([]);
  });

  test('names only files that exist', () => {
    expect(namedPaths(readReadme()).filter((path) => !existsSync(`${projectRoot}${path}`))).toEqual([]);
  });
});

describe('reading the README', () => {
  test('takes the rows of settings out of tables, with plain defaults', () => {
    const table = [
      '| variable | default | meaning |',
      '|---|---|---|',
      '| `HOST` | `127.0.0.1` | where it listens |',
      '| `TASK_MODEL` | – | the chooser |',
      '| `LOG_FORMAT` | `json` (`pretty` on a terminal) | one of `json \\| pretty` |',
      '| `npm start` | no setting | |',
      'The variable `PORT` in a sentence is none either.',
    ].join('\n');
    expect(settingRows(table)).toEqual([
      { name: 'HOST', default: '127.0.0.1' },
      { name: 'TASK_MODEL', default: '' },
      { name: 'LOG_FORMAT', default: 'json (pretty on a terminal)' },
    ]);
  });

  test('takes relative links and files named in code, and leaves out the web, anchors and examples', () => {
    const markdown = [
      'See [the limits](src/core/limits.ts#L3), [here](#start) and [there](https://example.com/a.md).',
      'The loop is `src/chat/run-chat.ts`; decisions are in `REVIEW.md`; it reads `toolwharf.yaml` and `openapi.json`.',
      '![shot](docs/shot.png "a title")',
      '```sh',
      'cat [x](no/such/file)',
      '```',
    ].join('\n');
    expect(namedPaths(markdown)).toEqual(['src/core/limits.ts', 'docs/shot.png', 'src/chat/run-chat.ts', 'REVIEW.md']);
  });
});
