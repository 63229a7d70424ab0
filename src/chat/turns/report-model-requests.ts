import { textOf, type ChatMessage } from '../../core/chat/chat.ts';
import { endCauseOf } from '../../core/runs/end-cause.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { ModelBackend, ModelRequest } from '../../core/models/model.ts';
import type { AnswerFault, ModelRequestLog } from '../../core/models/model-request-log.ts';

/** Names of functions logged with one model request; the start of the run has all that were offered then. */
export const loggedFunctionNames = 32;

/** The most characters of a logged name, because clients may send names of any length. */
const nameCharacters = 200;

export type ReportingBackend = (backend: ModelBackend) => ModelBackend;

/** The mode and preset for which requests are made. */
interface Requester {
  mode: 'none' | 'native' | 'default' | 'react';
  preset?: string | undefined;
}

/**
 * Wraps backends so that they report their requests and answers to the run's log. It must directly wrap what `ModelFinder` returns, below everything
 * that changes or repeats requests, so that the log has what was actually sent. Returns the same object for the same backend, because a selection
 * compares backends.
 */
export function reportModelRequests(log: ModelRequestLog | undefined, requester: Requester): ReportingBackend {
  if (log === undefined) return (backend) => backend;
  const reporting = new Map<ModelBackend, ModelBackend>();
  return (backend) => {
    const known = reporting.get(backend) ?? reportingBackend(backend, log, requester);
    reporting.set(backend, known);
    return known;
  };
}

function reportingBackend(backend: ModelBackend, log: ModelRequestLog, requester: Requester): ModelBackend {
  return {
    async answer(request, emit) {
      let answer = log.begin(describeModelRequest(request, requester), request, backend.provider);
      const onRepeat: ModelRequest['onRepeat'] = (next, fault) => {
        answer.end(fault === undefined ? undefined : faultOf(fault, request.signal));
        answer = log.begin(describeModelRequest(next, requester), next, backend.provider);
        request.onRepeat?.(next, fault);
      };
      try {
        const traced = answer.trace === undefined ? undefined : { trace: () => answer.trace };
        await backend.answer({ ...request, onRepeat, ...traced }, (events) => {
          for (const event of events) answer.note(event);
          return emit(events);
        });
        answer.end();
      } catch (error) {
        answer.end(faultOf(error, request.signal));
        throw error;
      }
    },
  };
}

/** The data of a `model.request` event: sizes and names, but no content. */
function describeModelRequest(request: ModelRequest, { mode, preset }: Requester): JsonObject {
  const { purpose } = request;
  const data: JsonObject = {
    purpose: purpose?.type ?? 'answer',
    mode,
    model: request.model.slice(0, nameCharacters),
    messages: request.messages.length,
    characters: charactersOf(request.messages),
  };
  if (preset !== undefined) data['preset'] = preset;
  if (purpose?.round !== undefined) data['round'] = purpose.round;
  if (purpose?.maxRounds !== undefined) data['max_rounds'] = purpose.maxRounds;
  const names = purpose?.functions ?? namesIn(request);
  data['functions'] = names.length;
  if (names.length > 0) data['names'] = names.slice(0, loggedFunctionNames).map((name) => name.slice(0, nameCharacters));
  const choice = purpose?.toolChoice ?? request.toolChoice;
  if (choice !== undefined) data['tool_choice'] = choiceIn(choice);
  if (request.output !== undefined && request.output.degree !== 'none') data['structured'] = true;
  if (purpose?.reason !== undefined) data['reason'] = purpose.reason;
  return data;
}

const noNames: readonly string[] = [];

function namesIn({ tools, callerTools }: ModelRequest): readonly string[] {
  if (tools.length === 0 && callerTools.length === 0) return noNames;
  return [...tools.map(({ name }) => name), ...callerTools.map(nameOf)];
}

/** The name in an entry of `tools` or in a `tool_choice`; a provider's own tool has only a type. */
function nameOf(entry: JsonObject): string {
  const { function: named, type } = entry;
  const name = isJsonObject(named) ? named['name'] : type;
  return typeof name === 'string' ? name : '?';
}

function choiceIn(choice: JsonValue): string {
  if (typeof choice === 'string') return choice.slice(0, nameCharacters);
  return isJsonObject(choice) ? nameOf(choice).slice(0, nameCharacters) : '?';
}

/** Counts the characters of all texts; images and other parts are not counted. */
function charactersOf(messages: readonly ChatMessage[]): number {
  let characters = 0;
  for (const { content } of messages) characters += typeof content === 'string' ? content.length : textOf(content).length;
  return characters;
}

function faultOf(error: unknown, signal: AbortSignal): AnswerFault | 'stopped' {
  const cause = endCauseOf(error, signal);
  if (cause.type === 'error') return { code: cause.error.code, message: cause.error.message };
  if (cause.type === 'unread') return 'stopped';
  if (cause.type === 'aborted') return { code: 'run_cancelled', message: 'The answer is no longer needed.' };
  return { code: 'internal_error', message: 'Internal error.' };
}
