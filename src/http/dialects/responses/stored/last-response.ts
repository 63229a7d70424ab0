import type { Caller } from '../../../../core/callers/caller.ts';
import { invalidField } from '../../../../core/errors.ts';
import { isJsonObject, textIn, type JsonObject } from '../../../../shared/json/json.ts';
import { whenThere, type MaybePromise } from '../../../../shared/async/maybe-promise.ts';
import type { StartedRun } from '../../../../runs/started-run.ts';
import type { AnswerStorage, PreparedChat, StoredAnswer } from '../../answers/answer-storage.ts';
import { responseFormat, type ResponseFormat } from '../response-wire.ts';
import { boundedResponse, withinBounds } from './store-answers.ts';
import { withoutRestored } from './prepare-request.ts';
import { idOf, itemsIn, toHistory, toStoredItems, withDecisionsOnly } from './stored-items.ts';

interface LastResponseOptions {
  /** Where responses are stored for all connections of a caller. */
  storage: AnswerStorage;
  newId: () => string;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** A response of this connection, with the conversation up to and including its request. */
interface KeptResponse {
  input: JsonObject[];
  response: JsonObject;
}

interface AnswerForm {
  format: ResponseFormat;
  model: string;
}

/** Remembers the last response of one connection, so that the next request can continue it without any store. */
export interface LastResponse extends AnswerStorage {
  /** Remembers a response that no run made. */
  keep(body: JsonObject, response: JsonObject): void;
  /** Forgets the response that a failed request meant to continue (Open Responses, "WebSocket Continuation"). */
  forget(id: string): void;
}

export function createLastResponse({ storage, newId, now }: LastResponseOptions): LastResponse {
  let last: KeptResponse | undefined;

  function keep(input: readonly JsonObject[], response: JsonObject): void {
    const items = toStoredItems(input, newId);
    // A conversation that is too large for a store is too large for a connection that stays open for hours.
    const bounded = withinBounds({
      id: idOf(response),
      callerId: '',
      previousId: undefined,
      input: items,
      response,
      created: 0,
      isRunning: false,
    });
    last = bounded && { input: bounded.input, response };
  }

  /** The conversation of the last response, if the request continues it and no store has it. */
  function findHistory(body: JsonObject, own: readonly JsonObject[]): JsonObject[] | undefined {
    const previous = body['previous_response_id'];
    if (last === undefined || previous !== idOf(last.response) || last.response['store'] === true) return undefined;
    const history = toHistory([last], own);
    requireCalls(own, history);
    return history;
  }

  function keeping(input: readonly JsonObject[], stored: StoredAnswer | undefined, { format, model }: AnswerForm): StoredAnswer {
    const keepAnswer = async (started: StartedRun, emit: Parameters<StartedRun['stream']>[0]): Promise<void> => {
      const { runId, thoughts } = started.run;
      const created = started.created ?? Math.floor(now() / 1_000);
      const bounded = boundedResponse(format.collect({ runId, created, now, model, thoughts }));
      await started.stream((events) => {
        bounded.add(events);
        return emit(events);
      });
      if (bounded.isTooLarge) last = undefined;
      else if (!started.run.signal.aborted) keep(input, bounded.collector.body());
    };
    return {
      format,
      storing(started) {
        const created = started.created ?? Math.floor(now() / 1_000);
        const begun = { ...(stored?.storing(started) ?? started), created };
        return { ...begun, stream: (emit) => keepAnswer(begun, emit) };
      },
      async save(answer) {
        keep(input, answer);
        return stored?.save(answer);
      },
    };
  }

  function prepare(sent: unknown, caller: Caller): MaybePromise<PreparedChat> {
    const own = isJsonObject(sent) ? itemsIn(sent['input']) : undefined;
    // The schema of the request reports what is wrong.
    if (!isJsonObject(sent) || own === undefined) return storage.prepare(sent, caller);
    const history = findHistory(sent, own);
    const { previous_response_id: previous, ...rest } = sent;
    const whole = history === undefined ? sent : { ...rest, input: [...history, ...own] };
    return whenThere(storage.prepare(whole, caller), (prepared) => {
      const body = prepared.body as JsonObject;
      const asked = { ...(previous !== undefined && { previous_response_id: previous }), ...withThoughts(body) };
      const count = history?.length ?? 0;
      return {
        body: asked,
        explain: (text) => withoutRestored(prepared.explain(text), count),
        store(parsed) {
          const stored = prepared.store?.(parsed);
          const format = (stored?.format as ResponseFormat | undefined) ?? responseFormat(parsed.options);
          const items = itemsIn(body['input']) ?? [];
          return keeping(parsed.decisions === undefined ? items : withDecisionsOnly(items), stored, {
            format,
            model: parsed.request.model,
          });
        },
      };
    });
  }

  return {
    prepare,
    keep: (body, response) => keep(itemsIn(body['input']) ?? [], response),
    forget(id) {
      if (last !== undefined && idOf(last.response) === id) last = undefined;
    },
  };
}

/** What the model wants back with its calls, which the next request of the connection does not send again. */
function withThoughts(body: JsonObject): JsonObject {
  const field = 'reasoning.encrypted_content';
  const include = body['include'] ?? [];
  return Array.isArray(include) && !include.includes(field) ? { ...body, include: [...include, field] } : body;
}

/** The conversation is known as a whole, so a result without its call is an error, as at OpenAI. @throws GatewayError `invalid_request` */
function requireCalls(own: readonly JsonObject[], history: readonly JsonObject[]): void {
  const known = new Set([...history, ...own].filter(isCall).map((item) => textIn(item['call_id'])));
  for (const [index, item] of own.entries()) {
    if (item['type'] !== 'function_call_output' && item['type'] !== 'custom_tool_call_output') continue;
    const id = textIn(item['call_id']);
    if (!known.has(id))
      throw invalidField(
        `input.${index}.call_id`,
        `there is no call ${JSON.stringify(id.slice(0, 64))} in the conversation. Send the whole conversation.`,
      );
  }
}

function isCall({ type }: JsonObject): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}
