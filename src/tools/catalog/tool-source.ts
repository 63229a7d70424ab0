import type { Caller } from '../../core/caller.ts';
import type { ChatRequest } from '../../core/chat.ts';
import type { RunContext } from '../../core/run.ts';
import type { Tool, ToolOffer, ToolSpec } from '../../core/tool.ts';

export type Warning = ToolOffer['warnings'][number];

/** A function that could be offered, before it has a name of its own. */
export interface Candidate {
  /** Legal; what it is called when nothing else is called so. */
  wanted: string;
  /** Identifies it whatever the order. */
  key: string;
  /** The entry of `tool_ids` that names it alone; absent: `server:` and the tool's label. */
  id?: string;
  /** Whether the request names this very function: then it is offered before any that only fits the question. */
  isNamed?: boolean;
  /** What it is called instead when something else is called so; absent: the same with a hash. */
  whenTaken?: string;
  /** What is searched; the same object as long as the function is unchanged. Absent: the tool's own. */
  spec?: ToolSpec;
  /** Further names by which an approval rule may mean it, such as the document's own. */
  otherNames?: readonly string[];
  toTool(offeredName: string): Tool;
}

/** What one source or server can offer to a run. */
export interface SuppliedFunctions {
  candidates: Candidate[];
  warnings: Warning[];
}

/** Functions that belong to no tool server. */
export interface ToolSource {
  /** Whether an entry of `tool_ids` is in this source's words. */
  claims(toolId: string): boolean;
  /**
   * What a run is offered. `toolIds`: the entries that are claimed; undefined: the defaults.
   * @throws GatewayError `unknown_tool_id`, `forbidden`
   */
  supplyFor(toolIds: readonly string[] | undefined, run: RunContext, request: ChatRequest): Promise<SuppliedFunctions>;
  /** What this caller may use. */
  list(caller: Caller, signal: AbortSignal): Promise<Candidate[]>;
}

/** One sentence, whether or not the reason already ends as one. */
export function leftOutWarning(code: string, what: string, reason: string): Warning {
  return { code, message: `${what} is left out: ${reason.replace(/\.$/, '')}.` };
}
