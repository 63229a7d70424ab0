import type { ChatEvent, ChatMessage, ToolCall } from '../core/chat.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import type { ModelBackend, ModelRequest } from '../core/model.ts';
import type { Tool, ToolErrorCode, ToolSpec } from '../core/tool.ts';
import { findOfferedName } from './find-offered-name.ts';
import { askForAnswer, askModel } from './ask-model.ts';
import type { Turn } from './ask-model.ts';
import type { CallReport, ToolCallSettings } from './run-tool-call.ts';
import { runTools } from './run-tools.ts';

export interface ChatRun {
  backend: ModelBackend;
  /** The backend's name of the model. */
  model: string;
  messages: ChatMessage[];
  tools: ReadonlyMap<string, Tool>;
  /** The caller's own entries of `tools`, and the names of those that are functions. */
  callerTools: JsonObject[];
  callerNames: ReadonlySet<string>;
  toolChoice: JsonValue | undefined;
  parallelToolCalls: boolean | undefined;
  parameters: JsonObject;
  stream: boolean;
  /** Rounds of tool calls; after them comes one last round without tools. */
  maxRounds: number;
  /** Whether the end of the rounds is worth an event: where one round is the mode's nature, it is not. */
  announcesLimit: boolean;
  /** `simple`: only the first call of the first round runs. */
  isSingleCall: boolean;
  settings: ToolCallSettings;
  /** Keeps what was executed beside calls to the caller's own functions, until the caller answers them. */
  keepForCaller(callerCalls: readonly ToolCall[], messages: readonly ChatMessage[]): void;
}

/**
 * Asks the model, runs the tools it calls, and asks again with their results, until it answers without calling any.
 * After the last round of calls no tools are offered, so that there always is an answer.
 */
export async function* runChat(chat: ChatRun): AsyncGenerator<ChatEvent> {
  const messages = [...chat.messages];
  const specs = [...chat.tools.values()].map((tool) => tool.spec);
  const separator = createTextSeparator();

  for (let round = 1; round <= chat.maxRounds; round++) {
    const turn = yield* separator.separate(askModel(chat.backend, requestFor(chat, { messages, specs, round })));
    const refusal = reasonNotToRun(turn, chat.toolChoice);
    if (turn.toolCalls.length === 0 || refusal !== undefined) {
      if (refusal !== undefined)
        yield* turn.toolCalls.map((call) => notRun(call, refusal, chat.toolChoice === 'none' ? 'tool_disabled' : 'args_truncated'));
      yield { type: 'finish', reason: turn.finishReason === 'tool_calls' ? 'stop' : turn.finishReason };
      return;
    }

    const calls = (chat.isSingleCall ? turn.toolCalls.slice(0, 1) : turn.toolCalls).map((call) => withOfferedName(call, chat));
    const callerCalls = calls.filter((call) => chat.callerNames.has(call.name));
    const ownCalls = calls.filter((call) => !chat.callerNames.has(call.name));
    const reports = yield* runTools(ownCalls, chat.tools, chat.settings);
    messages.push({ role: 'assistant', content: turn.text === '' ? null : turn.text, toolCalls: canonicalCalls(calls, reports) });
    messages.push(...reports.map(toolMessage));

    if (callerCalls.length > 0) {
      chat.keepForCaller(callerCalls, messages.slice(chat.messages.length));
      for (const call of callerCalls) yield { type: 'tool-call', call };
      yield { type: 'finish', reason: 'tool_calls' };
      return;
    }
  }

  if (chat.announcesLimit)
    yield { type: 'run-event', event: { type: 'limit.reached', data: { limit: 'tool_rounds', value: chat.maxRounds } } };
  const last = yield* separator.separate(askForAnswer(chat.backend, requestFor(chat, { messages, specs, round: chat.maxRounds + 1 })));
  yield { type: 'finish', reason: last.finishReason === 'tool_calls' ? 'stop' : last.finishReason };
}

function requestFor(chat: ChatRun, turn: { messages: ChatMessage[]; specs: ToolSpec[]; round: number }): ModelRequest {
  return {
    model: chat.model,
    messages: turn.messages,
    tools: turn.specs,
    callerTools: chat.callerTools,
    // A forced choice is obeyed once: forced again after its call, the model could never answer.
    toolChoice: turn.round === 1 || chat.toolChoice === 'none' ? chat.toolChoice : undefined,
    parallelToolCalls: chat.parallelToolCalls,
    parameters: chat.parameters,
    stream: chat.stream,
    signal: chat.settings.run.signal,
  };
}

/** Names are matched over everything offered at once: a call meant for the caller must not end at a function of the gateway with a like name. */
function withOfferedName(call: ToolCall, chat: ChatRun): ToolCall {
  if (chat.callerNames.size === 0) return call;
  const match = findOfferedName(call.name, [...chat.callerNames, ...chat.tools.keys()]);
  return match.type === 'repaired' ? { ...call, name: match.name } : call;
}

/** A call that was cut by the token limit or a filter may be half a call, even where its arguments happen to parse. */
function reasonNotToRun(turn: Turn, toolChoice: JsonValue | undefined): string | undefined {
  // Some backends take no notice of `none`; what the caller forbade does not run all the same.
  if (toolChoice === 'none') return 'The request said tool_choice: "none", so this call was not run.';
  if (turn.finishReason === 'length') return 'The answer was cut by the token limit, so its tool calls were not run. Raise max_tokens.';
  if (turn.finishReason === 'content_filter') return 'The answer was stopped by a content filter, so its tool calls were not run.';
  return undefined;
}

/** Arguments go back into the history as canonical JSON: one malformed call would make every later request fail. */
function canonicalCalls(calls: readonly ToolCall[], reports: readonly CallReport[]): ToolCall[] {
  const reportOf = new Map(reports.map((report) => [report.prepared.call, report]));
  return calls.map((call) => {
    const prepared = reportOf.get(call)?.prepared;
    if (prepared === undefined) return call;
    const args = prepared.type === 'ready' ? JSON.stringify(prepared.args) : '{}';
    return { ...call, name: prepared.tool?.spec.name ?? call.name, arguments: args };
  });
}

function toolMessage(report: CallReport): ChatMessage {
  const { call, tool } = report.prepared;
  return {
    role: 'tool',
    toolCallId: call.id,
    content: report.text,
    name: tool?.spec.name ?? call.name,
    label: tool?.label ?? call.name,
  };
}

function notRun(call: ToolCall, message: string, code: ToolErrorCode): ChatEvent {
  const data = { id: call.id, tool: call.name, duration_ms: 0, error: { code, message } };
  return { type: 'run-event', event: { type: 'tool.result', data } };
}

interface TextSeparator {
  separate(turn: AsyncGenerator<ChatEvent, Turn>): AsyncGenerator<ChatEvent, Turn>;
}

/** What a model says before a call and after it are two paragraphs, not one word run into another. */
function createTextSeparator(): TextSeparator {
  let lastCharacter = '';
  return {
    async *separate(turn) {
      let isFirstText = lastCharacter !== '' && lastCharacter !== '\n';
      for (let next = await turn.next(); ; next = await turn.next()) {
        if (next.done === true) return next.value;
        const event = next.value;
        if (event.type === 'text' && event.text !== '') {
          if (isFirstText) yield { type: 'text', text: '\n\n' };
          isFirstText = false;
          lastCharacter = event.text.slice(-1);
        }
        yield event;
      }
    },
  };
}
