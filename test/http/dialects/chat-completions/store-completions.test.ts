import { expect, it } from 'vitest';
import type { WaitingRun } from '../../../../src/core/runs/suspended-run.ts';
import type { ChatEvent, ChatRequest } from '../../../../src/core/chat/chat.ts';
import type { StoredChat } from '../../../../src/core/stores/chat-store.ts';
import type { RunContext } from '../../../../src/core/runs/run.ts';
import { storedAnswerCharacters } from '../../../../src/http/dialects/answers/store-answer.ts';
import { createCompletionStorage } from '../../../../src/http/dialects/chat-completions/store-completions.ts';
import { RunStats } from '../../../../src/runs/run-stats.ts';
import type { StartedRun } from '../../../../src/runs/started-run.ts';
import { StopReading } from '../../../../src/shared/async/emit.ts';

const caller = { id: 'ada', role: 'user', isOpen: false } as const;
const finish: ChatEvent = { type: 'finish', reason: 'stop' };
const hello: ChatEvent[] = [{ type: 'text', text: 'Hello.' }, finish];

function requestOf(fields: Partial<ChatRequest> = {}): ChatRequest {
  const request = { model: 'model', messages: [{ role: 'user', content: 'Hi' }], callerFunctions: [], hostedTools: [], parameters: {} };
  return { ...request, store: { metadata: null }, ...fields } as unknown as ChatRequest;
}

/** Stores answers of these events, in a store that remembers them and saves when it may. */
function storageOf(events: readonly ChatEvent[], { isStoring = true, mayStore = Promise.resolve() } = {}) {
  const saved: StoredChat[] = [];
  const warnings: string[] = [];
  const controller = new AbortController();
  const who = { caller, controller };
  const started: StartedRun = {
    run: { runId: 'r1', caller, signal: controller.signal } as unknown as RunContext,
    async stream(emit) {
      for (const event of events) await emit([event]);
    },
    stats: new RunStats({ now: () => 0, caller, model: 'model' }),
  };
  const store = {
    async save(chat: StoredChat) {
      await mayStore;
      saved.push(chat);
    },
    deleteAllOf: async () => undefined,
  };
  const logger = { warn: (_fields: object, message: string) => void warnings.push(message), error: () => undefined };
  const storage = createCompletionStorage({ store, isStoring, now: () => 5_999, logger });
  const start = (request: ChatRequest): StartedRun => storage.store(started, { request: storage.accept(request), who });
  return { storage, saved, warnings, started, controller, who, start };
}

async function read(stream: StartedRun['stream']): Promise<ChatEvent[]> {
  const all: ChatEvent[] = [];
  await stream((events) => void all.push(...events));
  return all;
}

it('an answer is stored with the second that it shows', async () => {
  const { start, saved } = storageOf(hello);
  const { created, stream } = start(requestOf());
  expect(await read(stream)).toEqual(hello);
  expect(created).toBe(5);
  expect(saved).toMatchObject([
    { id: 'chatcmpl-r1', callerId: 'ada', created: 5_999, completion: { created: 5 }, texts: { question: 'Hi', answer: 'Hello.' } },
  ]);
});

it('a model that searches stored chats finds no link to the page of an approval', async () => {
  const link = `http://127.0.0.1:8080/approvals/r0.${'x'.repeat(43)}`;
  const { start, saved } = storageOf([{ type: 'text', text: `See ${link}` }, finish]);
  await read(start(requestOf({ messages: [{ role: 'user', content: `What is ${link}?` }] })).stream);
  expect(saved).toMatchObject([{ texts: { question: 'What is [link]?', answer: 'See [link]' } }]);
});

it('a request without store, and every one where nothing is stored, has the run’s own stream', () => {
  const { store: _store, ...plain } = requestOf();
  const storing = storageOf(hello);
  expect(storing.start(plain)).toBe(storing.started);
  const other = storageOf(hello, { isStoring: false });
  expect(other.start(requestOf())).toBe(other.started);
});

const approval = { type: 'approval', approval: { run_id: 'r1', calls: [], token: 't' } } as unknown as ChatEvent;

it('an answer that waits for an approval is not stored, because of its tokens', async () => {
  const { start, saved } = storageOf([approval, ...hello]);
  await read(start(requestOf()).stream);
  expect(saved).toEqual([]);
});

it('an answer that goes on after an approval is stored for the one who asked, whoever has decided', async () => {
  const { storage, started, saved, who } = storageOf(hello);
  const waiting = { id: 'r1', callerId: 'bob', request: requestOf({ store: { metadata: { a: '1' } } }) } as unknown as WaitingRun;
  const { stream } = storage.store(started, { request: waiting.request, who, resumed: { run: waiting, decided: [] } });
  await read(stream);
  expect(saved).toMatchObject([{ id: 'chatcmpl-r1', callerId: 'bob', metadata: { a: '1' }, texts: { answer: 'Hello.' } }]);
});

it('an answer that was cut off, or whose run was ended, is not stored', async () => {
  const left = storageOf(hello);
  const stopping = left.start(requestOf()).stream(() => {
    throw new StopReading();
  });
  await expect(stopping).rejects.toThrow(StopReading);
  const ended = storageOf(hello);
  await ended.start(requestOf()).stream(() => ended.controller.abort() as undefined);
  expect([left.saved, ended.saved]).toEqual([[], []]);
});

it('an answer that is too large is passed on whole and not stored, which it says', async () => {
  const half: ChatEvent = { type: 'text', text: 'x'.repeat(storedAnswerCharacters / 2 + 1) };
  const { start, saved, warnings } = storageOf([half, half, finish]);
  const data = { code: 'not_stored', message: expect.stringContaining('larger than') };
  expect(await read(start(requestOf()).stream)).toMatchObject([half, half, finish, { event: { type: 'warning', data } }]);
  expect(saved).toEqual([]);
  expect(warnings).toEqual([expect.stringContaining('larger than')]);
});

it('a shutdown waits for what is being stored', async () => {
  const gate = Promise.withResolvers<void>();
  const { start, storage, saved } = storageOf(hello, { mayStore: gate.promise });
  const end = read(start(requestOf()).stream);
  await new Promise(setImmediate);
  const drained = storage.settled().then(() => saved.length);
  await new Promise(setImmediate);
  gate.resolve();
  expect(await drained).toBe(1);
  expect(await end).toEqual(hello);
});
