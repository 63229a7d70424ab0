import type { ChatMessage, ModelEvent } from '../../src/core/chat/chat.ts';
import { GatewayError } from '../../src/core/errors.ts';
import type { ModelBackend, ModelRequest } from '../../src/core/models/model.ts';
import { adaptBackend, type BackendForm } from '../../src/models/adapt-backend.ts';
import { RefusalMemory } from '../../src/models/remedies/refusal-memory.ts';
import { askModel } from './model-answers.ts';
import { answerOf, generatedBy } from './scripted-model.ts';

/** The words with which a request is refused, or an error with a status and a parameter; undefined: it is answered. */
type Refuse = (request: ModelRequest) => string | GatewayError | undefined;

export function refused(message: string, { status = 400, param }: { status?: number; param?: string } = {}): GatewayError {
  const code = status < 500 ? 'upstream_rejected' : 'upstream_error';
  return new GatewayError(code, message, { status, ...(param !== undefined && { param }) });
}

export interface StrictBackend {
  backend: ModelBackend;
  /** What the server got, refused requests included. */
  sent: ModelRequest[];
  /** Asks as this caller, in a run of its own. */
  ask: (fields?: Partial<ModelRequest>, caller?: string) => Promise<{ requests: ModelRequest[]; warnings: string[]; error: unknown }>;
}

/** A server that refuses some requests, behind the remedies of its kind. */
export function strictBackend(refuse: Refuse, form: BackendForm = { profile: 'plain' }): StrictBackend {
  const sent: ModelRequest[] = [];
  const server = generatedBy(async function* (request): AsyncGenerator<ModelEvent, void> {
    sent.push(request);
    await Promise.resolve();
    const refusal = refuse(request);
    if (refusal !== undefined) throw typeof refusal === 'string' ? refused(refusal) : refusal;
    yield { type: 'text', text: 'ok' };
    yield { type: 'finish', reason: 'stop' };
  });
  const memory = new RefusalMemory(() => 0);
  const backend = adaptBackend(server, form, (model) => memory.of('llm', model));
  return {
    backend,
    sent,
    ask: async (fields = {}, caller = 'ada') => {
      const before = sent.length;
      const events: ModelEvent[] = [];
      let error: unknown;
      try {
        const origin = { callerId: caller, sourceOf: () => ({ server: 'box', isOwn: false }) };
        for await (const event of answerOf(backend, askModel({ origin, ...fields }))) events.push(event);
      } catch (cause) {
        error = cause;
      }
      const warnings = events.flatMap((event) =>
        event.type === 'run-event' && event.event.type === 'warning' ? [event.event.data.code] : [],
      );
      return { requests: sent.slice(before), warnings, error };
    },
  };
}

/** The second request, which a refusal of the first one has led to. */
export function repeatOf([, repeat]: readonly ModelRequest[]): ModelRequest {
  if (repeat === undefined) throw new Error('The request was not repeated');
  return repeat;
}

/** Messages as `role: text`. */
export function shownMessages(messages: readonly ChatMessage[]): string[] {
  return messages.map(({ role, content }) => `${role}: ${typeof content === 'string' ? content : JSON.stringify(content)}`);
}
