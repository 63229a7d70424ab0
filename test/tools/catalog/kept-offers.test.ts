import { afterEach, expect, it, vi } from 'vitest';
import type { CallerFunction, ChatRequest } from '../../../src/core/chat/chat.ts';
import type { RunContext } from '../../../src/core/runs/run.ts';
import type { ToolOffer } from '../../../src/core/tools/tool.ts';
import type { Tools } from '../../../src/app/compose/compose-tools.ts';
import { connectedTools } from '../../_support/connected-tools.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import { chatRequest, runContext } from '../../_support/tools.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { documentWith, scriptedSend } from '../scripted-send.ts';

const time = toolServerRecord({ id: 'time', url: 'http://time.test' });
const maps = toolServerRecord({ id: 'maps', url: 'http://maps.test' });

const opened: Tools[] = [];
afterEach(async () => {
  for (const tools of opened.splice(0)) await tools.close();
});

function startTools(functionsOfMaps: string[] = ['route'], others: ToolServerRecord[] = []) {
  const registry = memoryRegistry([time, ...others, maps]);
  const script = scriptedSend({
    'http://time.test/openapi.json': documentWith('now', 'zone'),
    'http://maps.test/openapi.json': documentWith(...functionsOfMaps),
    'http://mail.test/openapi.json': documentWith('send'),
  });
  const tools = connectedTools({ registry, send: script.send });
  opened.push(tools);
  const offerFor = async (request: Partial<ChatRequest> = {}, run: Partial<RunContext> = {}): Promise<ToolOffer> =>
    tools.catalog.offerFor(chatRequest(request), runContext(run));
  return { registry, script, tools, offerFor };
}

const names = ({ tools }: ToolOffer): string[] => [...tools.keys()];
const restrictedTo = (...tools: string[]): Partial<RunContext> => ({
  caller: { id: `key ${tools.join(' ')}`, role: 'user', isOpen: false, tools },
});

it('is the same object for the same servers, whatever the question', async () => {
  const { offerFor } = startTools();
  // The first one opens the servers.
  await offerFor();
  const offer = await offerFor({ messages: [{ role: 'user', content: 'one' }] });
  expect(await offerFor({ messages: [{ role: 'user', content: 'another' }] })).toBe(offer);
  expect(await offerFor({ toolIds: ['server:time'] })).not.toBe(offer);
});

it.each([
  ['cannot be reached', toolServerRecord({ id: 'gone', url: 'http://gone.test' }), ['now', 'zone', 'route']],
  [
    'asks for a credential of each person',
    toolServerRecord({ id: 'mail', url: 'http://mail.test', authType: 'bearer', isPerUser: true }),
    ['now', 'zone', 'send', 'route'],
  ],
])('is kept beside a server that %s', async (_, other, expected) => {
  const { offerFor } = startTools(undefined, [other]);
  await offerFor();
  const { tools } = await offerFor();
  expect([...tools.keys()]).toEqual(expected);
  expect((await offerFor()).tools).toBe(tools);
  const ofAnother = await offerFor({}, restrictedTo('server:time', `server:${other.id}`, 'server:maps'));
  expect(names(ofAnother)).toEqual(expected);
  expect((await offerFor()).tools).toBe(tools);
});

it('follows a server whose functions have changed', async () => {
  const { script, tools, offerFor } = startTools();
  await offerFor();
  expect(names(await offerFor())).toEqual(['now', 'zone', 'route']);
  script.answers.set('http://maps.test/openapi.json', documentWith('route', 'distance'));
  await tools.inspector.refresh(maps, AbortSignal.timeout(10_000));
  expect(names(await offerFor())).toEqual(['now', 'zone', 'route', 'distance']);
});

it('follows the registry', async () => {
  const { registry, offerFor } = startTools();
  await offerFor();
  await offerFor();
  await registry.changeToolServer({ ...maps, isEnabled: false });
  expect(names(await offerFor())).toEqual(['now', 'zone']);
  await registry.deleteToolServer('time');
  expect(names(await offerFor())).toEqual([]);
});

it('of one key is never that of another', async () => {
  const { offerFor } = startTools();
  await offerFor();
  for (let repetition = 0; repetition < 2; repetition += 1) {
    expect(names(await offerFor({}, restrictedTo('server:maps')))).toEqual(['route']);
    expect(names(await offerFor({}, restrictedTo('server:time/zone')))).toEqual(['zone']);
    expect(names(await offerFor())).toEqual(['now', 'zone', 'route']);
  }
});

it('renames a function if the caller has one of the same name', async () => {
  const { offerFor } = startTools();
  const own = { name: 'route', wire: {} };
  for (let repetition = 0; repetition < 3; repetition += 1) {
    const offer = await offerFor({ callerFunctions: [own] });
    expect(names(offer).at(-1)).toMatch(/^route_[0-9a-f]{6}$/);
    expect(offer.warnings.map(({ code }) => code)).toEqual(['function_renamed']);
    expect(names(await offerFor()).at(-1)).toBe('route');
  }
});

it('is told apart by the names that callers bring, whatever is in them', async () => {
  const { offerFor } = startTools();
  await offerFor();
  const own = (name: string): CallerFunction => ({ name, wire: {} });
  expect(names(await offerFor({ callerFunctions: [own('now route')] }))).toEqual(['now', 'zone', 'route']);
  const offer = await offerFor({ callerFunctions: [own('now'), own('route')] });
  expect(names(offer)).toEqual([expect.stringMatching(/^now_[0-9a-f]{6}$/), 'zone', expect.stringMatching(/^route_[0-9a-f]{6}$/)]);
});

it('is kept only with as much text of a request as fits', async () => {
  const { offerFor } = startTools();
  await offerFor();
  const offerBeside = (characters: number): Promise<ToolOffer> =>
    offerFor({ callerFunctions: [{ name: 'x'.repeat(characters), wire: {} }] });
  expect(await offerBeside(10)).toBe(await offerBeside(10));
  expect(await offerBeside(30_000_000)).not.toBe(await offerBeside(30_000_000));
});

it('leaves out a function that a client brings behind any number of other parts of a name, in as many steps', async () => {
  const { offerFor } = startTools();
  const [route] = [...(await offerFor({ toolIds: ['server:maps'] })).tools.values()];
  const { description, parameters } = route?.spec ?? {};
  const stepsWith = async (parts: number): Promise<number> => {
    const name = `${'a.'.repeat(parts)}route`;
    const brought = { name, wire: { type: 'function', function: { name, description, parameters } } } as CallerFunction;
    const steps = vi.spyOn(Map.prototype, 'set');
    expect(names(await offerFor({ callerFunctions: [brought] }))).toEqual(['now', 'zone']);
    const count = steps.mock.calls.length;
    steps.mockRestore();
    return count;
  };
  expect(await stepsWith(50_000)).toBeLessThan((await stepsWith(50)) + 50);
});

it('is searched without being indexed again, and chosen by each question', async () => {
  const many = Array.from({ length: 300 }, (_, index) => `operation_${index}`);
  const { offerFor } = startTools([...many, 'send_mail', 'paint_wall']);
  await offerFor();
  const ask = (content: string): Promise<ToolOffer> => offerFor({ messages: [{ role: 'user', content }] });
  const [mail, wall] = [await ask('send a mail'), await ask('paint the wall')];
  expect([names(mail).includes('send_mail'), names(mail).includes('paint_wall')]).toEqual([true, false]);
  expect([names(wall).includes('send_mail'), names(wall).includes('paint_wall')]).toEqual([false, true]);
  expect(wall.finder).toBe(mail.finder);
});
