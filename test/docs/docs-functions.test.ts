import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { calls, says } from '../_support/scripted-model.ts';
import { functionGateway } from '../gateway/functions/function-gateway.ts';

/** The modules that a page shows, by the name in their first line. */
function modulesIn(path: string): Map<string, string> {
  const page = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const blocks = page.matchAll(/^```js\n\/\/ (?:tools|hooks)\/(?<name>[\w-]+\.js)\n(?<source>[\s\S]*?)^```/gm);
  return new Map(Array.from(blocks, ({ groups = {} }) => [groups['name'] ?? '', groups['source'] ?? '']));
}

const shown = modulesIn('docs/functions-and-hooks.md');
const module = (name: string): Record<string, string> => ({ [name]: shown.get(name) ?? '' });

describe('the examples of the page on functions', () => {
  it('are a tool of ten lines, one that changes its chat, a factory of several, and a hook', () => {
    expect([...shown.keys()]).toEqual(['roll-dice.js', 'unlock.js', 'notes.js', 'guard.js']);
    expect(shown.get('roll-dice.js')?.trim().split('\n').length).toBeLessThanOrEqual(10);
  });

  it('begin with the function of the README', () => {
    expect([...modulesIn('README.md')]).toEqual([...shown].slice(0, 1));
  });

  it('roll dice', async () => {
    await using gateway = await functionGateway(module('roll-dice.js'), { turns: [calls(['roll_dice', { count: 3 }]), says('ok')] });
    const [result] = (await gateway.ask()).eventsOf('tool.result');
    expect(result?.['response']).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]);
  });

  it('make notes of several topics, by chat', async () => {
    const turns = [calls(['read_work_notes', {}]), calls(['add_work_note', { note: 'a' }]), calls(['read_work_notes', {}]), says('ok')];
    await using gateway = await functionGateway(module('notes.js'), { turns });
    const results = (await gateway.ask({ tool_ids: ['toolset:notes'], chat_id: 'c' })).eventsOf('tool.result');
    expect(results.map(({ response, error }) => response ?? error)).toEqual([
      { code: 'tool_error', message: 'There is no note about work yet.' },
      'Noted.',
      ['a'],
    ]);
    expect(gateway.model.requests[0]?.tools).toHaveLength(4);
  });

  it('open the workshop for the rest of a chat', async () => {
    const hidden = (shown.get('roll-dice.js') ?? '').replace("name: 'roll_dice',", "name: 'roll_dice', default: false,");
    const turns = [calls(['unlock_workshop', {}]), says('ok'), says('ok')];
    await using gateway = await functionGateway({ ...module('unlock.js'), 'roll-dice.js': hidden }, { turns });
    for (let time = 0; time < 2; time += 1) await gateway.ask({ chat_id: 'c' });
    expect(gateway.model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ['unlock_workshop'],
      ['unlock_workshop', 'roll_dice'],
      ['unlock_workshop', 'roll_dice'],
    ]);
    expect(gateway.model.requests[2]?.messages[0]?.content).toBe('You run the workshop. Be careful.');
  });

  it('guard calls and words', async () => {
    const files = { ...module('roll-dice.js'), '_guard.js': shown.get('guard.js') ?? '' };
    const turns = [calls(['roll_dice', { sides: 1e6 }]), says('well, darn it')];
    await using gateway = await functionGateway(files, { hooks: ['_guard.js'], turns });
    const seen = await gateway.ask();
    expect(seen.eventsOf('tool.result')[0]?.['error']).toMatchObject({ message: 'No die has that many sides.' });
    expect(seen.text).toBe('well, **** it');
  });
});
