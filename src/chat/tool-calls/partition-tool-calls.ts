import type { ChatEvent, ToolCall } from '../../core/chat/chat.ts';
import type { JsonValue } from '../../shared/json/json.ts';
import type { Tool, ToolErrorCode } from '../../core/tools/tool.ts';
import { isForced, type ForcedChoice } from '../tool-choice/force-tool-choice.ts';
import { withReadArguments } from '../parse-tool-calls/read-arguments.ts';
import type { Turn } from '../turns/request-turn.ts';
import { nameCall, type NamedCall } from '../fit-calls/name-calls.ts';

/** The rules by which the calls of a turn are selected. */
interface PartitionRules {
  tools: ReadonlyMap<string, Tool>;
  callerNames: ReadonlySet<string>;
  toolChoice: JsonValue | undefined;
  /** Undefined: nothing is forced, or it has been fulfilled already. */
  forced: ForcedChoice | undefined;
  isSingleCall: boolean;
  /** The wire format of the answer supports only one call of the caller's functions. */
  returnsOneCall?: boolean | undefined;
  parallelToolCalls: boolean | undefined;
}

/** Selects the calls of a turn that run or are returned to the client, and returns events about the others. */
export function partitionToolCalls(turn: Turn, rules: PartitionRules): { calls: NamedCall[]; refused: ChatEvent[] } {
  const { toolChoice, forced, tools, callerNames } = rules;
  const reason = reasonNotToRun(turn, toolChoice);
  const code = toolChoice === 'none' ? 'tool_disabled' : 'args_truncated';
  if (reason !== undefined) return { calls: [], refused: turn.toolCalls.map((call) => notRun(call, reason, code)) };
  const named = turn.toolCalls.map((call) => readForCaller(nameCall(call, tools, callerNames), callerNames));
  const certain = turn.unknownReason === undefined ? named : named.filter(({ call }) => isHarmless(call, rules));
  const wanted = forced === undefined ? certain : certain.filter(({ call }) => isForced(call, forced));
  // Some backends ignore `parallel_tool_calls` too.
  const calls = rules.isSingleCall || rules.parallelToolCalls === false ? wanted.slice(0, 1) : atMostOneReturned(wanted, rules);
  const refused = named.flatMap((each) => {
    if (!certain.includes(each)) return [notRun(each.call, unknownEnd(turn.unknownReason), 'tool_disabled')];
    if (!wanted.includes(each))
      return [notRun(each.call, 'The request demands another function first, so this call was not run.', 'tool_disabled')];
    // `simple` means one call; dropping the others needs no message.
    if (rules.isSingleCall || calls.includes(each)) return [];
    return [notRun(each.call, 'The request takes one call at a time, so this one was not run.', 'tool_disabled')];
  });
  return { calls, refused };
}

/** Clients parse the arguments of their own functions as JSON. */
function readForCaller(named: NamedCall, callerNames: ReadonlySet<string>): NamedCall {
  return callerNames.has(named.call.name) ? { ...named, call: withReadArguments(named.call) } : named;
}

/** The caller runs its own functions, and reads the warning about the finish reason. */
function isHarmless({ name }: ToolCall, { tools, callerNames }: PartitionRules): boolean {
  return callerNames.has(name) || tools.get(name)?.isReadOnly === true;
}

function unknownEnd(reason: string | undefined): string {
  return `The answer ended with "${reason}", which the gateway does not know, so a call that may change something was not run.`;
}

function atMostOneReturned(calls: NamedCall[], { callerNames, returnsOneCall }: PartitionRules): NamedCall[] {
  if (returnsOneCall !== true) return calls;
  const first = calls.find(({ call }) => callerNames.has(call.name));
  return calls.filter((each) => each === first || !callerNames.has(each.call.name));
}

/** A call that was cut off by the token limit or a content filter may be incomplete, even if its arguments parse. */
function reasonNotToRun(turn: Turn, toolChoice: JsonValue | undefined): string | undefined {
  // Some backends ignore `none`; a call that the caller has forbidden must still not run.
  if (toolChoice === 'none') return 'The request said tool_choice: "none", so this call was not run.';
  if (turn.finishReason === 'length') return 'The answer was cut by the token limit, so its tool calls were not run. Raise max_tokens.';
  if (turn.finishReason === 'content_filter') return 'The answer was stopped by a content filter, so its tool calls were not run.';
  return undefined;
}

export function isCut({ finishReason }: Turn): boolean {
  return finishReason === 'length' || finishReason === 'content_filter';
}

function notRun(call: ToolCall, message: string, code: ToolErrorCode): ChatEvent {
  const data = { id: call.id, tool: call.name, duration_ms: 0, error: { code, message } };
  return { type: 'run-event', event: { type: 'tool.result', data } };
}
