import { Worker } from 'node:worker_threads';
import { limits } from '../../../core/limits.ts';
import { createFairTurns } from '../../../shared/fair-turns.ts';
import type { JsonValue } from '../../../shared/json.ts';
import type { FunctionContext, FunctionPlace } from '../define/function-definition.ts';
import type { FunctionOutcome } from '../define/return-values.ts';
import type { OpenedState } from './chat-state.ts';

/** The module as it was loaded, and one call of one of its functions. */
export interface ThreadJob {
  path: string;
  /** Below which modules are loaded from `sources`. */
  folder: string;
  sources: ReadonlyMap<string, string>;
  /** Of the function. */
  name: string;
  args: unknown;
  run: FunctionPlace;
  state: Record<string, JsonValue>;
}

/** What of the context only the gateway's side can do, and answers. */
export type ThreadRequest = { id: number; method: 'status' | 'progress' | 'confirm' | 'ask' | 'beginCritical'; params: unknown[] };

export type FromThread =
  | ({ type: 'request' } & ThreadRequest)
  | { type: 'end-critical' }
  | { type: 'stop' }
  | { type: 'done'; outcome: FunctionOutcome; changes: ReadonlyMap<string, JsonValue | undefined> }
  | { type: 'failed'; error: PlainError };

export type ToThread = { id: number; value?: unknown; error?: PlainError };

/** A structured clone of an error would lose a name such as `ToolError`. */
export type PlainError = Pick<Error, 'name' | 'message' | 'stack'>;

export function toPlainError(thrown: unknown): PlainError {
  const { name, message, stack = '' } = thrown instanceof Error ? thrown : new Error(String(thrown));
  return { name, message, stack };
}

export function fromPlainError({ message, ...rest }: PlainError): Error {
  return Object.assign(new Error(message), rest);
}

const threads = createFairTurns(limits.functionThreads);

/**
 * Runs `execute` in a thread of its own, so that work which blocks delays nothing else. The thread loads the module as it was loaded here, leaves
 * nothing for the next call, and is ended by the call's signal at once.
 * @throws what the function throws, by name and message; the signal's reason
 */
export async function runInThread(
  job: Omit<ThreadJob, 'run' | 'state'>,
  context: FunctionContext,
  state: OpenedState,
): Promise<FunctionOutcome> {
  const { runId, chatId, user, model, messages, files } = context;
  return threads.run(user.id, context.signal, () => {
    const run = { runId, chatId, user, model, messages, files };
    return runThread({ ...job, run, state: state.snapshot() }, context, state);
  });
}

async function runThread(job: ThreadJob, context: FunctionContext, state: OpenedState): Promise<FunctionOutcome> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const worker = new Worker(new URL(`./function-thread.${extension}`, import.meta.url), {
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: limits.functionThreadMegabytes },
  });
  const { promise, resolve, reject } = Promise.withResolvers<FunctionOutcome>();
  const onAbort = (): void => reject(context.signal.reason as Error);
  context.signal.addEventListener('abort', onAbort, { once: true });
  let endCritical: (() => void) | undefined;

  /** The section lasts until the thread says that it has ended. */
  function beginCritical(): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    endCritical = over.resolve;
    const section = context.critical(() => {
      begun.resolve();
      return over.promise;
    });
    section.catch(begun.reject);
    return begun.promise;
  }

  async function answer({ id, method, params }: ThreadRequest): Promise<void> {
    const perform = method === 'beginCritical' ? beginCritical : context[method];
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
        for (const [key, value] of message.changes) state.set(key, value);
        return resolve(message.outcome);
    }
  });
  worker.once('error', reject);
  worker.once('exit', () => reject(new Error('the thread has ended without a result')));
  try {
    return await promise;
  } finally {
    endCritical?.();
    context.signal.removeEventListener('abort', onAbort);
    // Not awaited: the result goes before a cancellation that waited for a critical section.
    void worker.terminate();
  }
}
