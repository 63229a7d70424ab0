import { expect, it } from 'vitest';
import type { ModelBackend } from '../../../src/core/models/model.ts';
import { backendOf } from '../../_support/build-app.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { functionGateway } from './function-gateway.ts';
import { generatedBy } from '../../_support/scripted-model.ts';

const version = (word: string): string =>
  functionModule('f', {
    parameters: 'z.object({ n: z.int() })',
    execute: `async ({ n }) => { await new Promise(setImmediate); return '${word} ' + n }`,
  });
const chats = 50;
const rounds = 3;

/** Calls the function in three rounds, waits at a gate in the second one, and says in the end what it has read. */
function callerAt(gate: { arrived: number; opened: Promise<void> }): ModelBackend {
  return generatedBy(async function* ({ messages }) {
    const results = messages.flatMap((message) => (message.role === 'tool' ? [message.content as string] : []));
    if (results.length === rounds) {
      yield { type: 'text', text: results.join() };
      yield { type: 'finish', reason: 'stop' };
      return;
    }
    if (results.length === 1) {
      gate.arrived += 1;
      await gate.opened;
    }
    yield { type: 'tool-call', call: { id: `c${results.length}`, name: 'f', arguments: `{"n":${results.length}}` } };
    yield { type: 'finish', reason: 'tool_calls' };
  });
}

it('the folder is loaded anew while fifty chats run: none fails, and each keeps the version that it began with', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const gate = { arrived: 0, opened };
  await using gateway = await functionGateway({ 'f.js': version('v0') }, { backends: [backendOf(callerAt(gate))] });
  await gateway.app.server.listen({ host: '127.0.0.1', port: 0 });
  const running = Promise.all(Array.from({ length: chats }, () => gateway.ask()));
  await expect.poll(() => gate.arrived).toBe(chats);
  const loaded = (): number => gateway.app.logLines.filter((line) => line.includes('f.js is loaded')).length;
  // Another module is broken and mended, and comes and goes meanwhile.
  for (const [index, other] of ['export const a = ;', functionModule('g'), 'throw new Error("x");'].entries()) {
    gateway.folder.write({ 'f.js': version(`v${'+'.repeat(index + 1)}`), 'other.js': other });
    await expect.poll(loaded).toBe(index + 2);
  }
  gateway.folder.remove('f.js');
  await expect.poll(async () => (await gateway.get('/api/tools')).body.includes('function:f')).toBe(false);
  open();
  const answers = await running;
  const expected = { status: 200, finish: ['stop'], text: 'v0 0,v0 1,v0 2' };
  expect(answers.map(({ status, finish, text }) => ({ status, finish, text }))).toEqual(Array.from({ length: chats }, () => expected));
});
