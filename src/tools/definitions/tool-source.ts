import type { Caller } from '../../core/callers/caller.ts';
import type { ChatRequest, McpToolList } from '../../core/chat/chat.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { Tool, ToolOffer, ToolSpec } from '../../core/tools/tool.ts';
import { asSentence } from '../../shared/text/as-sentence.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';

export type Warning = ToolOffer['warnings'][number];

/** A function that could be offered, before it is given its offered name. */
export interface Candidate {
  /** Its preferred name, a legal one; used unless it is taken. */
  wanted: string;
  /** Identifies it independent of any order. */
  key: string;
  /** The entry of `tool_ids` that selects just this function; absent: `server:` and the tool's label. */
  id?: string;
  /** Whether the request names this function itself; it is then offered before functions that merely fit the conversation. */
  isNamed?: boolean;
  /** The name to use if `wanted` is taken; absent: `wanted` with a hash. */
  whenTaken?: string;
  /** As `Tool.isForApps`. */
  isForApps?: true;
  /** The spec that is searched; the same object as long as the function is unchanged. Absent: the tool's own spec. */
  spec?: ToolSpec;
  /** Further names by which an approval rule may refer to it, such as the one in the document. */
  otherNames?: readonly string[];
  toTool(offeredName: string): Tool;
}

/** The functions that one source or server supplies to a run. */
export interface SuppliedFunctions {
  candidates: readonly Candidate[];
  warnings: readonly Warning[];
  /** Any caller gets the same, until a server changes. */
  isForEverybody?: true;
  /** The tools of an MCP server of the request, as the answer may show them. */
  list?: McpToolList;
}

/** Functions that belong to no tool server. */
export interface ToolSource {
  /** Whether an entry of `tool_ids` belongs to this source. */
  claims(toolId: string): boolean;
  /**
   * Supplies the candidates for a run. `toolIds`: the claimed entries; undefined: the defaults.
   * Its promise rejects with GatewayError `unknown_tool_id`, `forbidden`.
   */
  supplyFor(toolIds: readonly string[] | undefined, run: RunContext, request: ChatRequest): MaybePromise<SuppliedFunctions>;
  /** Everything that this caller may use. The same candidate as before where it has not changed. */
  list(caller: Caller, signal: AbortSignal): Promise<Candidate[]>;
}

/** The source that an entry of `tool_ids` belongs to; undefined for one of a server. */
export function sourceOf(toolId: string, sources: readonly ToolSource[]): ToolSource | undefined {
  return sources.find((source) => source.claims(toolId));
}

/** Always ends as a sentence does, whether or not the reason already does. */
export function leftOutWarning(code: string, what: string, reason: string): Warning {
  return { code, message: `${what} is left out: ${asSentence(reason)}` };
}
