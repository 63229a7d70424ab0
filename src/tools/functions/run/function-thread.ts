import { parentPort, workerData } from 'node:worker_threads';
import type { PlainJsonValue as JsonValue } from '../../../shared/json/json.ts';
import { isFunctionTool, isToolset, type FunctionContext, type FunctionTool, type StateUpdate } from '../define/function-definition.ts';
import { toStateUpdate } from '../define/state-update.ts';
import { toOutcome } from '../define/return-values.ts';
import { beginLoad, importModule } from '../load/load-module.ts';
import {
  fromPlainError,
  toPlainError,
  type FromThread,
  type StateChange,
  type ThreadJob,
  type ThreadRequest,
  type ToThread,
} from './run-in-thread.ts';

/**
 * The entry point of a worker thread that runs one call. `run-in-thread.ts` is the gateway's side; it executes everything that the context offers.
 */
const job = workerData as ThreadJob;
const pending = new Map<number, PromiseWithResolvers<unknown>>();
let requests = 0;

function send(message: FromThread): void {
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message);
}

function request(method: ThreadRequest['method'], params: unknown[]): Promise<unknown> {
  requests += 1;
  const answer = Promise.withResolvers<unknown>();
  pending.set(requests, answer);
  send({ type: 'request', id: requests, method, params });
  return answer.promise;
}

parentPort?.on('message', ({ id, value, error }: ToThread) => {
  const answer = pending.get(id);
  pending.delete(id);
  if (error === undefined) answer?.resolve(value);
  else answer?.reject(fromPlainError(error));
});

const changes = new Map<string, StateUpdate>();

function savedIn(state: Record<string, JsonValue>, key: string): JsonValue | undefined {
  return Object.hasOwn(state, key) ? structuredClone(state[key]) : undefined;
}

/** Saves the changes before the call ends. They are made anew as often as another call has saved the same keys meanwhile. */
async function saveState(): Promise<void> {
  let state: Record<string, JsonValue> | undefined = job.state;
  while (state !== undefined && changes.size > 0) {
    const current = state;
    const made = Array.from(changes, ([key, update]): StateChange => {
      const from = savedIn(current, key);
      return { key, from, value: update(from) };
    });
    state = (await request('saveState', [made])) as Record<string, JsonValue> | undefined;
  }
}

const context: FunctionContext = {
  ...job.run,
  // Never aborts: the gateway terminates the thread instead.
  signal: new AbortController().signal,
  state: {
    get(key) {
      const saved = savedIn(job.state, key);
      const update = changes.get(key);
      return update === undefined ? saved : update(saved);
    },
    set(key, change) {
      const update = toStateUpdate(change, changes.get(key));
      // What it throws belongs here.
      update(savedIn(job.state, key));
      changes.set(key, update);
    },
  },
  status: async (...params) => void (await request('status', params)),
  progress: async (...params) => void (await request('progress', params)),
  say: async (...params) => void (await request('say', params)),
  confirm: async (...params) => (await request('confirm', params)) === true,
  updateTools: async (...params) => void (await request('updateTools', params)),
  updateInstructions: async (...params) => void (await request('updateInstructions', params)),
  ask: (...params) => request('ask', params) as Promise<JsonValue | undefined>,
  async critical(work) {
    await request('beginCritical', []);
    try {
      return await work();
    } finally {
      // Sent in the next turn, so that a result of `execute` that follows directly is sent first: it is what really happened.
      setImmediate(() => send({ type: 'end-critical' }));
    }
  },
  stop: () => send({ type: 'stop' }),
};

try {
  const { url } = beginLoad(job.path, { folder: job.folder, sources: new Map(job.sources) });
  const { execute } = findFunction((await importModule(url)) as Record<string, unknown>).options;
  const outcome = toOutcome(await execute(job.args, context));
  await saveState();
  send({ type: 'done', outcome });
} catch (error) {
  send({ type: 'failed', error: toPlainError(error) });
}
// Otherwise the open port would keep the thread alive.
parentPort?.unref();

function findFunction(exports: Readonly<Record<string, unknown>>): FunctionTool {
  const found = Object.values(exports)
    .flat()
    .flatMap((value): unknown[] => (isToolset(value) ? [...value.tools] : [value]))
    .filter(isFunctionTool)
    .find(({ name }) => name === job.name);
  if (found === undefined) throw new Error(`the module does not export the function "${job.name}" when it is loaded in a worker thread`);
  return found;
}
