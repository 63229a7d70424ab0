import type { Caller } from '../callers/caller.ts';

/** A tool server that wants the person's own credential, and has none yet. `name`: for people. */
export type ServerToConnect = { server: string; name: string };

/** A call that waits until its caller has connected to a server. `within`: as in `WaitingCall`. */
export interface ConnectingCall extends ServerToConnect {
  callId: string;
  tool: string;
  within?: { index: number; callId: string }[];
}

/** What a caller needs to connect, and to go on with the run. A link is absent if it is not known where people reach the gateway. */
export interface PendingConnect {
  run_id: string;
  servers: { server: string; name: string; url?: string }[];
  token: string;
}

/** The path of the page where a person connects begins with this; the rest is the secret part of the link. */
export const connectPagePath = '/connect/';

/** A link for this caller to that page; undefined if it is not known where people reach the gateway (`address`). */
export type MakeConnectLink = (caller: Caller, server: string, address: string | undefined) => Promise<string | undefined>;

/** The servers of these calls, each once. */
export function serversOf(calls: readonly ServerToConnect[]): ServerToConnect[] {
  return [...new Map(calls.map(({ server, name }) => [server, { server, name }])).values()];
}
