import type { JsonObject } from '../../shared/json/json.ts';
import type { Caller } from '../callers/caller.ts';

/** What MCP servers have besides tools, by the field of the protocol's answers that lists it. */
export type ContentsKind = 'resources' | 'resourceTemplates' | 'prompts';

export interface ContentsPage {
  /** Resources, resource templates or prompts, as MCP defines them. */
  items: JsonObject[];
  /** Absent on the last page. */
  nextCursor?: string;
}

/** Who asks. */
export interface ContentsAsker {
  caller: Caller;
  signal: AbortSignal;
}

/** `own`: the URI on its server. `uri`: the one by which clients of the gateway know it. */
export interface AppView {
  server: string;
  own: string;
  uri: string;
}

/** Which values are asked for: those of an argument of a prompt, or of a variable of a template. The fields are those of MCP's request. */
interface WantedCompletion {
  ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };
  argument: { name: string; value: string };
  /** What the other arguments or variables are. */
  context?: { arguments?: Record<string, string> };
}

/** Who has subscribed to a resource. */
export interface ResourceWatcher {
  /** The resource may have changed. */
  onUpdated: () => void;
  /** There is nothing more to come: the caller may not read it any more, or its server is gone or does not tell. */
  onEnded: () => void;
}

/**
 * The contents of the registered MCP servers that a caller may use. The URI of a resource is `toolwharf://<server id>/<its own URI>`, the name of a
 * prompt `<server id>/<its own name>`. Parameters and results are those of MCP's requests.
 * @throws GatewayError `not_found` for what does not exist or is not the caller's; `invalid_request`; `upstream_rejected`, `upstream_timeout`,
 * `upstream_unreachable`, `egress_denied` for what became of the request; `payload_too_large` for a result above `limits.keptResultBytes`
 */
export interface ServerContents {
  /** Servers that cannot be reached are left out. `gateways`: the ids of those that the request came through, nearest first. */
  list(kind: ContentsKind, page: { cursor: string | undefined; gateways: readonly string[] }, asker: ContentsAsker): Promise<ContentsPage>;
  read(uri: string, asker: ContentsAsker): Promise<JsonObject>;
  /**
   * The interface of a function that the caller may use (MCP Apps): it needs no permission of its own, but may be blocked.
   */
  readView(view: AppView, asker: ContentsAsker): Promise<JsonObject>;
  /** Subscribes to a resource until the signal is aborted. */
  watch(uri: string, asker: ContentsAsker, watcher: ResourceWatcher): Promise<void>;
  prompt(name: string, args: Record<string, string> | undefined, asker: ContentsAsker): Promise<JsonObject>;
  complete(wanted: WantedCompletion, asker: ContentsAsker): Promise<JsonObject>;
}
