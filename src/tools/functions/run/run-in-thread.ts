import { Worker } from 'node:worker_threads';
import { limits } from '../../../core/limits.ts';
import { createFairTurns } from '../../../shared/fair-turns.ts';
import type { OpenedState } from './function-state.ts';
import type { FunctionContext } from '../define/function-definition.ts';
import { fromPlain } from '../define/return-values.ts';
import type { FromFunctionThread, ThreadJob, ToFunctionThread } from './thread-messages.ts';

const threads = createFairTurns(limits.functionThreads);

/**
 * Runs `execute` in a thread of its own, so that work which blocks holds up nobody else. The thread loads the module as it was loaded here, keeps
 * nothing for the next call, and is ended by the call's signal at once.
 * @throws what the function throws, by name and message; the signal's reason
 */
export async function runInThread(
  module: Pick<ThreadJob, 'path' | 'folder' | 'sources' | 'name'>,
  { args, context, state }: { args: unknown; context: FunctionContext; state: OpenedState },
): Promise<unknown> {
  const { runId, chatId, user, model, messages, files } = context;
  return threads.run(user.id, context.signal, () => {
    const place = { runId, chatId, user, model, messages, files };
    return talk({ ...module, args, place, state: state.snapshot() }, context, state);
  });
}

async function talk(job: ThreadJob, context: FunctionContext, state: OpenedState): Promise<unknown> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const worker = new Worker(new URL(`./function-thread.${extension}`, import.meta.url), {
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: limits.functionThreadMegabytes },
  });
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const onAbort = (): void => reject(context.signal.reason as Error);
  context.signal.addEventListener('abort', onAbort, { once: true });
  let endCritical: (() => void) | undefined;

  /** The section lasts until the thread says that it has ended. */
  function beginCritical(): Promise<void> {
    const { promise: begun, resolve: begin, reject: refuse } = Promise.withResolvers<void>();
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    endCritical = end;
    const section = context.critical(() => {
      begin();
      return over;
    });
    section.catch(refuse);
    return begun;
  }

  function does({ what, params }: Extract<FromFunctionThread, { type: 'ask' }>): Promise<unknown> {
    switch (what) {
      case 'status':
        return context.status(String(params[0]));
      case 'progress':
        return context.progress(Number(params[0]), params[1] === undefined ? undefined : Number(params[1]));
      case 'confirm':
        return context.confirm(...(params as Parameters<FunctionContext['confirm']>));
      case 'ask':
        return context.ask(...(params as Parameters<FunctionContext['ask']>));
      case 'begin-critical':
        return beginCritical();
    }
  }

  async function answer(asked: Extract<FromFunctionThread, { type: 'ask' }>): Promise<void> {
    const { id } = asked;
    const message: ToFunctionThread = await does(asked).then(
      (value) => ({ id, value }),
      (error: unknown) => ({
        id,
        problem: error instanceof Error ? { name: error.name, message: error.message } : { name: 'Error', message: String(error) },
      }),
    );
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(message);
  }

  worker.on('message', (message: FromFunctionThread) => {
    switch (message.type) {
      case 'ask':
        return void answer(message);
      case 'end-critical':
        return endCritical?.();
      case 'stop':
        return context.stop();
      case 'failed':
        return reject(toError(message));
      case 'done':
        for (const [key, value] of message.changes) state.set(key, value);
        return resolve(fromPlain(message.plain));
    }
  });
  worker.once('error', reject);
  worker.once('exit', () => reject(new Error('the thread has ended without a result')));
  try {
    return await promise;
  } finally {
    endCritical?.();
    context.signal.removeEventListener('abort', onAbort);
    // Not waited for: the result goes before a cancellation that a critical section has held back.
    void worker.terminate();
  }
}

function toError({ name, message, stack }: Extract<FromFunctionThread, { type: 'failed' }>): Error {
  const error = new Error(message);
  error.name = name;
  if (stack !== undefined) error.stack = stack;
  return error;
}
