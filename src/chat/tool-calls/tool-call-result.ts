import type { ToolCall } from '../../core/chat/chat.ts';
import type { ConfigChange } from '../../core/chat/chat-config.ts';
import { limits } from '../../core/limits.ts';
import type { RunEvent } from '../../core/chat/run-event.ts';
import type { InnerSuspension, WaitingCall } from '../../core/runs/suspended-run.ts';
import type { ResultStore } from '../../core/stores/result-store.ts';
import type { FollowUp, ToolOutcome } from '../../core/tools/tool.ts';
import type { ConnectingCall } from '../../core/user-input/connect.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { extractDataUris } from '../results/extract-data-uris.ts';
import { textOfResult } from '../results/result-text.ts';
import { truncateResult } from '../results/truncate-result.ts';
import type { PreparedCall } from './prepare-tool-call.ts';

/**
 * Why a call continues in another request. `approval`: it needs a decision; `request` is the event that requests it, if it was not emitted yet.
 * `connect`: its caller has to connect to a server. `inner`: nested calls need one of these. `blocked`: an earlier call is suspended.
 */
export type Suspension =
  | { type: 'approval'; waiting: Omit<WaitingCall, 'id'>; request?: RunEvent }
  | { type: 'connect'; connecting: ConnectingCall }
  | { type: 'inner'; suspension: InnerSuspension }
  | { type: 'blocked' };

/** How one call of a run ended. Plain data, except for `suspended`. */
export interface ToolCallResult {
  call: ToolCall;
  /** Absent if there is no function with that name. */
  tool?: { name: string; label: string };
  /** Absent if they could not be parsed. */
  args?: JsonObject;
  /** The arguments for the history: as the model gave them, or as a hook or a human changed them. */
  shownArgs?: JsonObject;
  /** What the model reads before the result: arguments that were renamed or ignored. */
  notices?: string[];
  /** The function was found, the arguments are valid, and no limit was exceeded. */
  isReady: boolean;
  /** The outcome as the model gets it, truncated if it was too large. */
  outcome: ToolOutcome;
  /** The text for the model: the result, or `{"error": "…"}`. */
  text: string;
  durationMs: number;
  /** How often the tool was run; 0 if the result was cached or the call did not run. */
  attempts: number;
  followUp?: FollowUp;
  /** A hook returned the result instead of the tool. */
  isByHook?: true;
  /** What the function said to the user while it ran. */
  said?: string;
  /** What the function changed in its chat. */
  changes?: ConfigChange;
  /** The size before truncation. */
  cutFromBytes?: number;
  /** Set if the call continues in another request; `outcome` is then for a run that cannot be suspended. */
  suspended?: Suspension;
}

/** How much of a result the model reads at once. */
export interface ResultLimits {
  /** Where results are stored for `read_result`, and its name; absent if no model can call it. */
  reader?: { results: ResultStore; name: string };
  /** The most bytes of a result for the model; a tool's own limit has precedence. */
  resultBytes?: number;
}

function extractFiles(outcome: ToolOutcome): ToolOutcome {
  if (outcome.type === 'error') return outcome;
  const { value, files } = extractDataUris(outcome.value);
  if (files.length === 0) return outcome;
  // A small file may be the value itself as well.
  const given = outcome.files ?? [];
  const others = given.filter(({ url }) => !files.some((file) => file.url === url));
  return { ...outcome, value, files: [...others, ...files.map((file) => ({ ...given.find(({ url }) => url === file.url), ...file }))] };
}

/**
 * Makes the result for the model. A result above its limit would push the conversation out of the context: it is truncated, and stored as a whole for
 * `read_result`.
 */
export function toToolCallResult(
  {
    prepared,
    attempts = 0,
    ...given
  }: Pick<ToolCallResult, 'outcome' | 'durationMs' | 'followUp' | 'said' | 'changes'> & { prepared: PreparedCall; attempts?: number },
  { reader, resultBytes }: ResultLimits,
): ToolCallResult {
  const { call, tool, args } = prepared;
  const shownArgs = prepared.type === 'ready' ? prepared.given : args;
  const known = {
    ...(tool && { tool: { name: tool.spec.name, label: tool.label } }),
    ...(args && { args }),
    ...(shownArgs && { shownArgs }),
    ...(prepared.type === 'ready' && prepared.notices.length > 0 && { notices: prepared.notices }),
  };
  const ended = { ...given, call, ...known, isReady: prepared.type === 'ready', attempts };
  const outcome = extractFiles(given.outcome);
  const maxBytes = tool?.maxResultBytes ?? resultBytes ?? limits.toolResultBytes;
  if (outcome.type === 'error') {
    const message = truncateResult(outcome.message, { maxBytes, reader: undefined }).text;
    const detail = outcome.detail === undefined ? {} : { detail: outcome.detail };
    const text = JSON.stringify({ error: message, ...detail });
    return { ...ended, outcome: { ...outcome, message }, text };
  }
  // Only the model reads the result of a helper.
  const whole = textOfResult(outcome.value, { isIndented: tool?.isHelper !== true });
  const { text, isCut } = truncateResult(whole, { maxBytes, reader });
  if (!isCut) return { ...ended, outcome, text };
  return { ...ended, outcome: { ...outcome, value: text, isTruncated: true }, text, cutFromBytes: Buffer.byteLength(whole) };
}
