import type { ServerContext } from '@modelcontextprotocol/server';
import type { Caller } from '../../core/callers/caller.ts';
import type { ReadRequestHeader } from '../../core/chat/request-headers.ts';

/** The route's facts about a request. The SDK passes them on where it has an endpoint's facts about a credential. */
export interface McpRequestInfo {
  caller: Caller;
  /** Reads the headers of the request. */
  readHeader?: ReadRequestHeader;
  /** Where people reach the gateway, for links. */
  address?: () => string | undefined;
  /** Aborted when the client has left. */
  signal: AbortSignal;
  /** Where the request is one for the list of tools. */
  page?: SentPage;
}

/** JSON of the tools of a page, separated by commas, and a unique text that the answer has until they are inserted. */
export interface SentPage {
  mark: string;
  tools?: Uint8Array;
}

/** Who sent this request, and until when it is worth working on: the client may leave, or cancel it by a notification. */
export function askerOf({ http, mcpReq }: ServerContext): McpRequestInfo {
  const info = http?.authInfo?.extra;
  if (info === undefined) throw new Error('The route did not say who asks.');
  const { caller, readHeader, address, signal, page } = info as Record<string, unknown> & McpRequestInfo;
  return {
    caller,
    ...(readHeader && { readHeader }),
    ...(address && { address }),
    ...(page && { page }),
    signal: AbortSignal.any([signal, mcpReq.signal]),
  };
}
