import type { Caller } from '../../core/caller.ts';
import type { ChatRequest } from '../../core/chat.ts';
import type { RunContext } from '../../core/run.ts';
import type { Candidate } from './offer-tools.ts';
import type { SuppliedFunctions } from '../servers/request-servers.ts';

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
