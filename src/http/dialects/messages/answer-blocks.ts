import { withCanonicalArguments } from '../../../chat/messages/repair-history.ts';
import type { ChatEvent, ToolCall } from '../../../core/chat/chat.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { textOfResult } from '../../../chat/results/result-text.ts';
import type { RunEvent } from '../../../core/chat/run-event.ts';
import { parseExactly } from '../../../shared/json/parse-exactly.ts';

/** Which blocks a client is shown besides text and its own calls. */
export interface ShownBlocks {
  showsThinking: boolean;
  /** The calls that the gateway executes. */
  showsCalls: boolean;
}

/** The block that an event becomes, other than text and thinking, which grow; undefined if there is none. */
export function blockOf(event: ChatEvent, { showsCalls }: Pick<ShownBlocks, 'showsCalls'>): JsonObject | undefined {
  if (event.type === 'tool-call') return callBlock(event.call);
  return event.type === 'run-event' && showsCalls ? executedBlock(event.event) : undefined;
}

/** In a stream the input of a call comes only in deltas: Anthropic's Go SDK appends them to the input of the start event. */
export function openingOf(block: JsonObject): JsonObject {
  return inputTextOf(block) === undefined ? block : { ...block, input: {} };
}

/** The text of a call's input; undefined for other blocks. */
export function inputTextOf({ type, input }: JsonObject): string | undefined {
  return type === 'tool_use' || type === 'mcp_tool_use' ? JSON.stringify(input) : undefined;
}

function callBlock(call: ToolCall): JsonObject {
  const input = parseExactly(withCanonicalArguments(call).arguments) as JsonObject;
  return { type: 'tool_use', id: call.id, name: call.name, input, caller: { type: 'direct' } };
}

/** Calls within another call are its own business. */
function executedBlock({ type, data }: RunEvent): JsonObject | undefined {
  if (data.within !== undefined) return undefined;
  if (type === 'tool.call') {
    const { id, tool, args, server } = data;
    return { type: 'mcp_tool_use', id, name: tool, server_name: server ?? 'function', input: isJsonObject(args) ? args : {} };
  }
  if (type !== 'tool.result') return undefined;
  const { id, error, response } = data;
  const text = textOfResult(error === undefined ? response : error.message);
  return { type: 'mcp_tool_result', tool_use_id: id, is_error: error !== undefined, content: [{ type: 'text', text, citations: null }] };
}
