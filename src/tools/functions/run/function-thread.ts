import { parentPort, workerData } from 'node:worker_threads';
import type { JsonValue } from '../../../shared/json.ts';
import type { FunctionContext, FunctionTool } from '../define/function-definition.ts';
import { isFunctionTool, isToolset } from '../define/function-definition.ts';
import { importModule } from '../load/load-module.ts';
import { beginLoad } from '../load/module-hooks.ts';
import { toJson, toPlain } from '../define/return-values.ts';
import type { FromFunctionThread, ThreadJob, ToFunctionThread } from './thread-messages.ts';

/** One call in a thread of its own: the gateway's side is `run-in-thread.ts`, and everything the context does is done there. */
const job = workerData as ThreadJob;
const waiting = new Map<number, PromiseWithResolvers<unknown>>();
let asked = 0;

function send(message: FromFunctionThread): void {
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message);
}

function ask(what: Extract<FromFunctionThread, { type: 'ask' }>['what'], ...params: unknown[]): Promise<unknown> {
  asked += 1;
  const answer = Promise.withResolvers<unknown>();
  waiting.set(asked, answer);
  send({ type: 'ask', id: asked, what, params });
  return answer.promise;
}

parentPort?.on('message', (message: ToFunctionThread) => {
  const answer = waiting.get(message.id);
  waiting.delete(message.id);
  if (message.problem === undefined) return answer?.resolve(message.value);
  const error = new Error(message.problem.message);
  error.name = message.problem.name;
  answer?.reject(error);
});

const changes = new Map<string, JsonValue | undefined>();
const context: FunctionContext = {
  ...job.place,
  // The thread is ended before anything could hear of it.
  signal: new AbortController().signal,
  state: {
    get: (key) => structuredClone(changes.has(key) ? changes.get(key) : Object.hasOwn(job.state, key) ? job.state[key] : undefined),
    set: (key, value) => void changes.set(key, value === undefined ? undefined : toJson(value)),
  },
  status: async (text) => void (await ask('status', text)),
  progress: async (done, total) => void (await ask('progress', done, total)),
  confirm: async (...question) => (await ask('confirm', ...question)) === true,
  ask: (...question) => ask('ask', ...question) as Promise<JsonValue | undefined>,
  async critical(work) {
    await ask('begin-critical');
    try {
      return await work();
    } finally {
      // A result that follows right after is what happened, and goes first.
      setImmediate(() => send({ type: 'end-critical' }));
    }
  },
  stop: () => send({ type: 'stop' }),
};

try {
  const { url } = beginLoad(job.path, { folder: job.folder, sources: new Map(job.sources) });
  const definition = findFunction((await importModule(url)) as Record<string, unknown>);
  const { execute } = definition.options as { execute: (args: unknown, context: FunctionContext) => unknown };
  send({ type: 'done', plain: toPlain(await execute(job.args, context)), changes });
} catch (error) {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  send({ type: 'failed', name, message, stack });
}
// Without another word to wait for, the thread would stay for its port.
parentPort?.unref();

function findFunction(exports: Readonly<Record<string, unknown>>): FunctionTool {
  const values = Object.values(exports).flatMap((value): unknown[] => (Array.isArray(value) ? value : [value]));
  const all = values.flatMap((value): unknown[] => (isToolset(value) ? [...value.tools] : [value])).filter(isFunctionTool);
  const found = all.find(({ name }) => name === job.name);
  if (found === undefined) throw new Error(`the module makes no function "${job.name}" when it is loaded in a thread`);
  return found;
}
