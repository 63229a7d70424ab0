import type { ChatMessage, ModelEvent, ToolCall } from '../core/chat.ts';
import { isJsonObject } from '../core/json.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import { GatewayError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { ModelBackend, ModelRequest } from '../core/model.ts';
import type { ToolSpec } from '../core/tool.ts';
import { findOfferedName } from './find-offered-name.ts';
import { foldToolResults } from './fold-tool-results.ts';
import { parseSelection } from './parse-tool-calls/parse-selection.ts';
import type { SelectedCall } from './parse-tool-calls/parse-selection.ts';
import { selectionMessages } from './selection-prompt.ts';

export interface SelectionOptions {
  backend: ModelBackend;
  /** Who chooses: the task model where one is set, else the chat model itself. */
  task: { backend: ModelBackend; model: string };
  template: string;
  /** Values for placeholders of the template beside `{{TOOLS}}`. */
  variables: ReadonlyMap<string, string>;
  /** Puts inline files before the model for its answer; the choice is made without them. */
  withFiles: (messages: readonly ChatMessage[]) => ChatMessage[];
  newCallId: () => string;
}

/**
 * Gives a model without native calls the port of one that has them: a first question chooses functions, and what was executed is
 * folded into the user's message for the answer. The loop above cannot tell the difference.
 */
export function selectToolsByPrompt(options: SelectionOptions): ModelBackend {
  return {
    async *chat(request) {
      const isAnswering = request.messages.at(-1)?.role === 'tool';
      const offered = [...request.tools, ...callerSpecs(request.callerTools)];
      if (!isAnswering && offered.length > 0 && request.toolChoice !== 'none') {
        const calls = yield* selectCalls(request, offered, options);
        if (calls.length > 0) {
          for (const call of calls) yield { type: 'tool-call', call };
          yield { type: 'finish', reason: 'tool_calls' };
          return;
        }
      }
      const answering = withoutTools({ ...request, messages: options.withFiles(request.messages) });
      yield* options.backend.chat({ ...answering, callerTools: hostedTools(request.callerTools) });
    },
  };
}

function withoutTools(request: ModelRequest): ModelRequest {
  return {
    ...request,
    messages: foldToolResults(request.messages),
    tools: [],
    callerTools: [],
    toolChoice: undefined,
    parallelToolCalls: undefined,
  };
}

/** A selection that fails costs the tools, not the answer; the run's `selection` event says what happened. */
async function* selectCalls(request: ModelRequest, offered: ToolSpec[], options: SelectionOptions): AsyncGenerator<ModelEvent, ToolCall[]> {
  const messages = selectionMessages(foldToolResults(request.messages), offered, options);
  if (messages === undefined) return [];
  const asked = { ...withoutTools(request), model: options.task.model, messages, parameters: {}, stream: false };
  let answer: Answer;
  try {
    answer = yield* wholeAnswer(options.task.backend, asked);
  } catch (error) {
    request.signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    yield selectionEvent({ model: options.task.model, error: { code: error.code, message: error.message } });
    return [];
  }
  const choice = answer.isCut ? { calls: [], repairs: [], isReadable: false } : parseSelection(answer.text);
  const { known, dropped, renamed } = sortByOffer(choice.calls, offered);
  const repaired = [...choice.repairs, ...renamed];
  yield selectionEvent({
    model: options.task.model,
    found: known.map((call) => call.name),
    dropped,
    repaired,
    ...(choice.isReadable ? {} : { unreadable: answer.text.slice(0, 500), ...(answer.isCut ? { cut: true } : {}) }),
  });
  return known.map((call) => ({ id: options.newCallId(), name: call.name, arguments: JSON.stringify(call.arguments) }));
}

interface Answer {
  text: string;
  /** Ended by the token limit: whatever stands there may be half a call. */
  isCut: boolean;
}

/** The answer as text. Only usage and the gateway's own events come through: the choice is not for the reader. */
async function* wholeAnswer(backend: ModelBackend, request: ModelRequest): AsyncGenerator<ModelEvent, Answer> {
  const answer: Answer = { text: '', isCut: false };
  for await (const event of backend.chat(request)) {
    // Beyond what is ever read, a model that does not stop only costs time.
    if (answer.text.length > limits.argumentsBytes) return { ...answer, isCut: true };
    if (event.type === 'text') answer.text += event.text;
    else if (event.type === 'finish') answer.isCut = event.reason === 'length';
    else if (event.type === 'usage' || event.type === 'run-event') yield event;
  }
  return answer;
}

/** Names that fit no offered function are dropped and reported; shortened ones are understood. */
function sortByOffer(calls: readonly SelectedCall[], offered: readonly ToolSpec[]) {
  const names = offered.map((spec) => spec.name);
  const known: SelectedCall[] = [];
  const dropped: JsonValue[] = [];
  const renamed: string[] = [];
  for (const call of calls) {
    const match = findOfferedName(call.name, names);
    if (match.type === 'unknown') dropped.push({ name: call.name.slice(0, 200), reason: 'no such function is offered' });
    else {
      known.push({ ...call, name: match.name });
      if (match.type === 'repaired') renamed.push(`name: "${call.name}" read as "${match.name}"`);
    }
  }
  return { known, dropped, renamed };
}

/** A provider's own tools are run by the provider, whatever the mode: they go along with the answer. */
function hostedTools(callerTools: readonly JsonObject[]): JsonObject[] {
  return callerTools.filter((entry) => !isJsonObject(entry['function']));
}

function callerSpecs(callerTools: readonly JsonObject[]): ToolSpec[] {
  return callerTools.flatMap((entry) => {
    const wire = entry['function'];
    if (!isJsonObject(wire) || typeof wire['name'] !== 'string') return [];
    const parameters = isJsonObject(wire['parameters']) ? wire['parameters'] : { type: 'object', properties: {}, required: [] };
    return [{ name: wire['name'], description: typeof wire['description'] === 'string' ? wire['description'] : '', parameters }];
  });
}

function selectionEvent(data: JsonObject): ModelEvent {
  return { type: 'run-event', event: { type: 'selection', data } };
}
