import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { openStores } from '../../_support/memory-stores.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf } from '../../_support/build-app.ts';
import { GeneratedModel } from '../../_support/scripted-model.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { askPlainly, bankGateway, call, decide } from '../approvals/approval-fixture.ts';
import type { Asked } from '../approvals/approval-fixture.ts';

const newFolder = temporaryFolders();
const admin = 'sk-tw-fixed-administrator';
const count = 300;
/** Of one caller only so many runs may wait. */
const callers = 6;

/** Pays whenever it is asked to, and says so. */
class Payer extends GeneratedModel {
  #calls = 0;

  async *events({ messages }: ModelRequest): AsyncGenerator<ModelEvent> {
    const last = messages.at(-1);
    if (last?.role === 'user' && JSON.stringify(last.content).includes('Pay')) {
      this.#calls += 1;
      yield { type: 'tool-call', call: { id: `call-${this.#calls}`, name: 'pay', arguments: '{"amount":5}' } };
      yield { type: 'finish', reason: 'tool_calls' };
      return;
    }
    yield { type: 'text', text: 'Done.' };
    yield { type: 'finish', reason: 'stop' };
  }
}

/** One for each number; all begin in the same turn of the event loop. */
const all = <Value>(work: (number: number) => Promise<Value>): Promise<Value[]> =>
  Promise.all(Array.from({ length: count }, (_, number) => work(number)));

it('300 stored responses, 300 stored chats, 300 approvals and 300 decisions at once are all kept', async () => {
  const file = join(newFolder(), 'toolwharf.db');
  const { registry: _registry, database, ...stores } = openStores({ file, secret: 's' });
  const gateway = await bankGateway({
    ...stores,
    backends: [backendOf(new Payer())],
    environment: { TOOLWHARF_ADMIN_KEY: admin, STORE_CHATS: 'true' },
    config: { secret: 's' },
  });
  onTestFinished(() => database.close());
  onTestFinished(() => gateway.app.close());
  const keys = await Promise.all(
    Array.from({ length: callers }, async () => {
      const made = await call(gateway, 'POST /api/keys', { key: admin, payload: { name: 'some', role: 'user' } });
      return made.json<{ id: string; key: string }>();
    }),
  );
  const keyOf = (number: number): { id: string; key: string } => keys[number % callers] ?? { id: '', key: '' };
  const askToPay = (number: number): Promise<Asked> => askPlainly(gateway, {}, keyOf(number).key);
  const earlier = await all(askToPay);

  const say =
    (path: string, fields: object) =>
    async (number: number): Promise<JsonObject> => {
      const payload = { model: 'model', tool_ids: [], ...fields };
      return (await call(gateway, `POST ${path}`, { key: keyOf(number).key, payload })).json<JsonObject>();
    };
  const [responses, chats, asked, decided] = await Promise.all([
    all(say('/v1/responses', { input: 'Hello.' })),
    all(say('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello.' }], store: true })),
    all(askToPay),
    all((number) => decide(gateway, { approval: (earlier[number] as Asked).approval }, { key: keyOf(number).key })),
  ]);
  expect(decided.map(({ statusCode }) => statusCode)).toEqual(Array.from({ length: count }, () => 200));
  expect(responses.filter(({ store }) => store !== true)).toEqual([]);
  expect([...chats, ...asked].filter((answer) => answer['warnings'] !== undefined)).toEqual([]);
  expect(gateway.app.logLines.filter((line) => line.includes('locked by another process'))).toEqual([]);
  await gateway.app.close();
  await database.close();

  const after = openStores({ file, secret: 's' });
  onTestFinished(() => after.database.close());
  const owner = (number: number): string => keyOf(number).id;
  const found = await all(async (number) => [
    await after.responses.find(owner(number), String(responses[number]?.['id'])),
    await after.chats.find(owner(number), String(chats[number]?.['id'])),
  ]);
  expect(found.flat().filter((one) => one === undefined)).toEqual([]);
  expect(new Set(await after.waitingRuns.openIds(Date.now()))).toEqual(new Set(asked.map(({ approval }) => approval.run_id)));
});
