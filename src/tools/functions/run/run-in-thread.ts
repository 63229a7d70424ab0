import { isDeepStrictEqual } from 'node:util';
import { Worker } from 'node:worker_threads';
import { createFairTurns } from '../../../shared/fairness/fair-turns.ts';
import type { PlainJsonValue as JsonValue } from '../../../shared/json/json.ts';
import type { FunctionContext, FunctionPlace } from '../define/function-definition.ts';
import type { FunctionOutcome } from '../define/return-values.ts';
import type { OpenedState } from './function-state.ts';

/** Concurrent threads of functions with `worker: true`; more would only compete for cores. */
const functionThreads = 4;
const functionThreadMegabytes = 512;

/** One call of a function, and the module as it was loaded. */
export interface ThreadJob {
  path: string;
  /** Modules in this folder are loaded from `sources`. */
  folder: string;
  sources: ReadonlyMap<string, string>;
  /** The function's name. */
  name: string;
  args: unknown;
  run: Omit<FunctionPlace, 'state'> & Pick<FunctionContext, 'tools'>;
  state: Record<string, JsonValue>;
}

/** How a call changes the saved value `from` of one key; undefined means no value. */
export interface StateChange {
  key: string;
  from: JsonValue | undefined;
  value: JsonValue | undefined;
}

/** A method of the context that only the gateway's side can execute, and answers. */
export type ThreadRequest = {
  id: number;
  method: 'status' | 'progress' | 'say' | 'updateTools' | 'updateInstructions' | 'confirm' | 'ask' | 'beginCritical' | 'saveState';
  params: unknown[];
};

export type FromThread =
  | ({ type: 'request' } & ThreadRequest)
  | { type: 'end-critical' }
  | { type: 'stop' }
  | { type: 'done'; outcome: FunctionOutcome }
  | { type: 'failed'; error: PlainError };

export type ToThread = { id: number; value?: unknown; error?: PlainError };

/** Errors are sent as plain objects, because structured cloning loses custom names such as `ToolError`. */
type PlainError = Pick<Error, 'name' | 'message' | 'stack'>;

export function toPlainError(thrown: unknown): PlainError {
  const { name, message, stack = '' } = thrown instanceof Error ? thrown : new Error(String(thrown));
  return { name, message, stack };
}

export function fromPlainError({ message, ...rest }: PlainError): Error {
  return Object.assign(new Error(message), rest);
}

const threads = createFairTurns(functionThreads);

/**
 * Runs `execute` in a worker thread, so that work which blocks delays nothing else. The thread loads the same version of the module, keeps nothing
 * for the next call, and is terminated as soon as the call's signal aborts.
 * @throws what the function throws, by name and message; the signal's reason
 */
export async function runInThread(
  job: Omit<ThreadJob, 'run' | 'state'>,
  context: FunctionContext,
  state: OpenedState,
): Promise<FunctionOutcome> {
  const { runId, chatId, user, preset, model, messages, files, tools } = context;
  return threads.run(user.id, context.signal, () => {
    const run = { runId, chatId, user, preset, model, messages, files, tools };
    return runThread({ ...job, run, state: state.snapshot() }, context, state);
  });
}

async function runThread(job: ThreadJob, context: FunctionContext, state: OpenedState): Promise<FunctionOutcome> {
  const worker = new Worker(new URL('./function-thread.ts', import.meta.url), {
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: functionThreadMegabytes },
  });
  const { promise, resolve, reject } = Promise.withResolvers<FunctionOutcome>();
  const onAbort = (): void => reject(context.signal.reason as Error);
  context.signal.addEventListener('abort', onAbort, { once: true });
  let endCritical: (() => void) | undefined;

  /** The critical section lasts until the thread reports its end. */
  function beginCritical(): Promise<void> {
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    endCritical = ended.resolve;
    const section = context.critical(() => {
      started.resolve();
      return ended.promise;
    });
    section.catch(started.reject);
    return started.promise;
  }

  /** Saves nothing, and returns the state, if another call has changed one of the keys meanwhile: the thread makes its changes anew. */
  async function saveState(changes: readonly StateChange[]): Promise<Record<string, JsonValue> | undefined> {
    context.signal.throwIfAborted();
    const saved = state.snapshot();
    const hasMissed = ({ key, from }: StateChange): boolean => !isDeepStrictEqual(from, Object.hasOwn(saved, key) ? saved[key] : undefined);
    if (changes.some(hasMissed)) return saved;
    for (const { key, value } of changes) state.set(key, value);
    await state.commit();
    return undefined;
  }

  async function answer({ id, method, params }: ThreadRequest): Promise<void> {
    const perform = method === 'beginCritical' ? beginCritical : method === 'saveState' ? saveState : context[method];
    const reply: ToThread = await (perform as (...args: unknown[]) => Promise<unknown>)(...params).then(
      (value) => ({ id, value }),
      (error: unknown) => ({ id, error: toPlainError(error) }),
    );
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(reply);
  }

  worker.on('message', (message: FromThread) => {
    switch (message.type) {
      case 'request':
        return void answer(message);
      case 'end-critical':
        return endCritical?.();
      case 'stop':
        return context.stop();
      case 'failed':
        return reject(fromPlainError(message.error));
      case 'done':
        return resolve(message.outcome);
    }
  });
  worker.once('error', reject);
  worker.once('exit', () => reject(new Error('the worker thread ended without a result')));
  try {
    return await promise;
  } finally {
    endCritical?.();
    context.signal.removeEventListener('abort', onAbort);
    // Not awaited, so that the result arrives before a cancellation that waited for a critical section.
    void worker.terminate();
  }
}
