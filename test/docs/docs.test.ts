import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readConfig, settings } from '../../src/app/config/config.ts';
import { anchorsIn, linksIn, namedPaths, plainDefault, settingRows } from '../_support/read-docs.ts';

const projectRoot = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(projectRoot, path), 'utf8');
/** What goes into the package and the image; see `src/packaging/build.js`. */
const published = ['README.md', 'LICENSE', 'CHANGELOG.md', ...globSync('docs/**', { cwd: projectRoot })].filter((path) =>
  statSync(join(projectRoot, path)).isFile(),
);
const pages = published.filter((path) => path.endsWith('.md') && path !== 'CHANGELOG.md').map((path) => ({ path, text: read(path) }));
describe('the documentation', () => {
  it('is there', () => {
    expect(pages.map(({ path }) => path)).toEqual(expect.arrayContaining(['README.md', 'docs/configuration.md', 'docs/glossary.md']));
  });

  it('lists every setting once, with its default and its meaning, and none that does not exist', () => {
    const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
    const stated = settings.map((setting) => ({ ...setting, default: plainDefault(setting.default) }));
    expect(pages.flatMap(({ text }) => settingRows(text)).toSorted(byName)).toEqual(stated.toSorted(byName));
  });

  it('shows a key in every command that changes the gateway', () => {
    const commands = pages.flatMap(
      ({ text }) => text.replaceAll('\\\n', ' ').match(/curl .*(?:api\/(?:keys|tool-servers|presets|v1\/configs)).*/g) ?? [],
    );
    expect(commands.length).toBeGreaterThan(4);
    expect(commands.filter((command) => !/-H "(?:x-api-key: |authorization: Bearer )\$\w+"/.test(command))).toEqual([]);
  });

  it.each(pages)('$path names only files that exist', ({ text }) => {
    expect(namedPaths(text).filter((path) => !existsSync(join(projectRoot, path)))).toEqual([]);
  });

  // In the package and the image there is nothing else that a link could lead to.
  it.each(pages)('$path links only to headings and files that are published with it', ({ path, text }) => {
    const broken = linksIn(text).filter((link) => {
      const [file = '', anchor] = link.split('#', 2);
      const target = file === '' ? path : normalize(join(dirname(path), file));
      if (!published.includes(target)) return true;
      return anchor !== undefined && !anchorsIn(read(target)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('starts with a short README', () => {
    expect(Buffer.byteLength(read('README.md'))).toBeLessThanOrEqual(6_500);
  });

  it('lists every page in the README or in its index', () => {
    const targets = (path: string, text: string): string[] =>
      linksIn(text).map((link) => normalize(join(dirname(path), link.split('#', 1)[0] ?? '')));
    const listed = ['README.md', 'docs/README.md'].flatMap((path) => targets(path, read(path)));
    // Pictures and examples belong to a page.
    const shown = pages.flatMap(({ path, text }) => targets(path, text)).filter((path) => !path.endsWith('.md'));
    expect(published.filter((path) => path !== 'README.md' && ![...listed, ...shown].includes(path))).toEqual([]);
  });

  it.each(pages)('$path has no line that is too long to read', ({ text }) => {
    expect(text.split('\n').filter((line) => line.length > 600)).toEqual([]);
  });

  it('has a changelog with a section for the next release, and short ones', () => {
    const [, next = '', ...releases] = read('CHANGELOG.md').split(/^## /m);
    expect(next).toMatch(/^Unreleased\n/);
    expect(releases[0]).toMatch(/^\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}\n/);
    for (const section of [next, ...releases]) expect((section.match(/^- /gm) ?? []).length).toBeLessThanOrEqual(60);
  });
});

describe('the examples of the documentation', () => {
  it('hold a configuration file that the gateway reads, with every section', () => {
    const file = /^```yaml\n(# toolwharf\.yaml\n[\s\S]*?)^```/m.exec(read('docs/configuration.md'))?.[1];
    const config = readConfig({ OPENAI_KEY: 'k', WEATHER_KEY: 'w', MAIL_SECRET: 'w' }, (path) =>
      path === './toolwharf.yaml' ? file : undefined,
    );
    const { backends, toolServers, presets, modules } = config;
    expect([backends.length, toolServers.length, presets.length, modules.toolsets.length, modules.hooks.length]).toEqual([2, 2, 1, 1, 1]);
    expect(config).toMatchObject({ port: 8090, taskModel: 'qwen3:4b', corsOrigins: ['https://chat.example'] });
    expect(modules.toolsDir).toMatch(/tools$/);
  });

  it('hold entries of backends that the gateway reads', () => {
    const examples = [...read('docs/backends.md').matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = '']) => text);
    expect(examples.length).toBeGreaterThan(2);
    for (const text of examples) {
      const keys = Object.fromEntries([...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'k']));
      const { backends } = readConfig({ ...keys, OLLAMA_BASE_URLS: ';' }, (path) => (path === './toolwharf.yaml' ? text : undefined));
      expect(backends).toHaveLength(text.match(/\btype: /g)?.length ?? 0);
    }
  });

  it('leave running answers their time, and bodies their size', () => {
    const { drainTimeoutMs, bodyLimitBytes, port } = readConfig({}, () => undefined);
    const page = read('docs/operations.md');
    const numberIn = (pattern: RegExp): number => Number(pattern.exec(page)?.[1]);
    expect(numberIn(/^TimeoutStopSec=(\d+)$/m) * 1_000).toBeGreaterThanOrEqual(drainTimeoutMs + 5_000);
    expect(numberIn(/docker stop --time (\d+)/) * 1_000).toBeGreaterThanOrEqual(drainTimeoutMs + 5_000);
    expect(numberIn(/client_max_body_size (\d+)m;/) * 1024 * 1024).toBeGreaterThan(bodyLimitBytes);
    expect([numberIn(/proxy_pass http:\/\/127\.0\.0\.1:(\d+);/), numberIn(/reverse_proxy 127\.0\.0\.1:(\d+)/)]).toEqual([port, port]);
  });
});

describe('reading the documentation', () => {
  it('takes the rows of settings out of tables, with plain defaults', () => {
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
      { name: 'HOST', default: '127.0.0.1', meaning: 'where it listens' },
      { name: 'TASK_MODEL', default: '', meaning: 'the chooser' },
      { name: 'LOG_FORMAT', default: 'json (pretty on a terminal)', meaning: 'one of `json | pretty`' },
    ]);
  });

  it('takes links and files named in code, and leaves out the web and examples', () => {
    const markdown = [
      'See [the limits](src/core/limits.ts#L3), [here](#start) and [there](https://example.com/a.md).',
      'The loop is `src/chat/loop/run-chat.ts`; decisions are in `REVIEW.md`; it reads `toolwharf.yaml` and `openapi.json`.',
      '![shot](docs/shot.png "a title")',
      '```sh',
      'cat [x](no/such/file) `src/none.ts`',
      '```',
    ].join('\n');
    expect(linksIn(markdown)).toEqual(['src/core/limits.ts#L3', '#start', 'docs/shot.png']);
    expect(namedPaths(markdown)).toEqual(['src/chat/loop/run-chat.ts', 'REVIEW.md']);
  });

  it('knows the anchors of headings', () => {
    const markdown = ['# The file .env', '## [Docker](x.md) & more', '## Runs', '## Runs', '```', '# a comment', '```'].join('\n');
    expect(anchorsIn(markdown)).toEqual(['the-file-env', 'docker--more', 'runs', 'runs-1']);
  });
});
