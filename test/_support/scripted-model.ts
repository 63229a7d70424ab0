import { openCallerId } from '../../src/core/callers/caller.ts';
import { RefusalMemory } from '../../src/models/remedies/refusal-memory.ts';
import type { ModelEvent } from '../../src/core/chat/chat.ts';
import type { FoundModel, ModelBackend, ModelFinder, ModelRequest } from '../../src/core/models/model.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { emitFrom, pullFrom } from './emit-and-pull.ts';
import type { Emit } from '../../src/shared/async/emit.ts';

/** One answer of a scripted model: its events, an error to throw, or a promise to wait for between them. */
export type ScriptStep = ModelEvent | Error | Promise<unknown>;

/** Answers its turns in order, remembers what it was asked, and honours the signal at every step. */
export class ScriptedModel implements ModelBackend {
  readonly requests: ModelRequest[] = [];
  readonly #turns: ScriptStep[][];

  constructor(...turns: ScriptStep[][]) {
    this.#turns = turns;
  }

  answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    return emitFrom(this.#play(request), emit);
  }

  async *#play(request: ModelRequest): AsyncGenerator<ModelEvent, void> {
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

/** A backend whose answers are the events of its generator. */
export abstract class GeneratedModel implements ModelBackend {
  answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    return emitFrom(this.events(request), emit);
  }

  abstract events(request: ModelRequest): AsyncGenerator<ModelEvent, void>;
}

/** The same for a single generator. */
export function generatedBy(events: (request: ModelRequest) => AsyncGenerator<ModelEvent, void>): ModelBackend {
  return { answer: (request, emit) => emitFrom(events(request), emit) };
}

/** The events of one answer, as they come. */
export function answerOf(backend: ModelBackend, request: ModelRequest): AsyncGenerator<ModelEvent, void> {
  return pullFrom((emit: Emit<ModelEvent>) => backend.answer(request, emit));
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
): ModelFinder & { readonly forgotten: string[] } {
  const memory = new RefusalMemory(() => 0);
  const record = (id: string) => ({
    id,
    owner: found.owner ?? 'openai',
    isLocal: found.isLocal ?? false,
    created: 0,
    capabilities: undefined,
    details: {},
  });
  return {
    /** The models that are remembered as having no tools in any request of the open mode's caller. */
    get forgotten() {
      return Object.keys(models).filter((model) => memory.holds({ backend: 'scripted', model }, 'tools', openCallerId));
    },
    async require(id) {
      const backend = models[id];
      if (backend === undefined) throw new GatewayError('model_not_found', `There is no model ${id}.`);
      return { record: record(id), name: id, backend, nativeTools: found.nativeTools ?? 'unknown', lessons: memory.of('scripted', id) };
    },
    list: async () => Object.keys(models).map(record),
  };
}
