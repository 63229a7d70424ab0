import type { ModelEvent } from '../../src/core/chat.ts';
import type { FoundModel, ModelBackend, ModelFinder, ModelRequest } from '../../src/core/model.ts';
import { GatewayError } from '../../src/core/errors.ts';

/** One answer of a scripted model: its events, an error to throw, or a promise to wait for between them. */
export type ScriptStep = ModelEvent | Error | Promise<unknown>;

/** Answers its turns in order, remembers what it was asked, and honours the signal at every step. */
export class ScriptedModel implements ModelBackend {
  readonly requests: ModelRequest[] = [];
  readonly #turns: ScriptStep[][];

  constructor(...turns: ScriptStep[][]) {
    this.#turns = turns;
  }

  async *chat(request: ModelRequest): AsyncGenerator<ModelEvent> {
    this.requests.push({ ...request, messages: structuredClone(request.messages) });
    const turn = this.#turns.shift();
    if (turn === undefined) throw new Error('The script has no further turn');
    for (const step of turn) {
      request.signal.throwIfAborted();
      if (step instanceof Error) throw step;
      if (step instanceof Promise) await untilAborted(step, request.signal);
      else yield step;
    }
  }
}

async function untilAborted(step: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([step, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

export function says(text: string): ScriptStep[] {
  return [
    { type: 'text', text },
    { type: 'finish', reason: 'stop' },
  ];
}

let callCount = 0;

/** A native call; `args` may be text that is no JSON. */
export function calls(...wanted: [name: string, args: unknown][]): ScriptStep[] {
  const events = wanted.map(([name, args]): ModelEvent => ({
    type: 'tool-call',
    call: { id: `call-${++callCount}`, name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  }));
  return [...events, { type: 'finish', reason: 'tool_calls' }];
}

export function finderOf(
  models: Record<string, ModelBackend>,
  found: Partial<FoundModel> & { owner?: string; isLocal?: boolean } = {},
): ModelFinder & { forgotten: string[] } {
  const forgotten: string[] = [];
  const record = (id: string) => ({
    id,
    owner: found.owner ?? 'openai',
    isLocal: found.isLocal ?? false,
    created: 0,
    capabilities: undefined,
    details: {},
  });
  return {
    forgotten,
    async require(id) {
      const backend = models[id];
      if (backend === undefined) throw new GatewayError('model_not_found', `There is no model ${id}.`);
      return { record: record(id), name: id, backend, nativeTools: found.nativeTools ?? 'unknown' };
    },
    list: async () => Object.keys(models).map(record),
    rememberNoTools: (id) => void forgotten.push(id),
  };
}
