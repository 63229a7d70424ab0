/** The messages between the page and its session in the worker. */

/** A frame of the gateway; docs/browser-tools.md lists them. */
export interface Frame {
  type: string;
  data: Readonly<Record<string, unknown>>;
}

/** A tool server that this browser may send calls to. */
export interface AllowedServer {
  url: string;
  /** Sent only to this server, as `Authorization: Bearer`. */
  key?: string | undefined;
}

/** `waiting`: the connection was lost, or there has been none, and it will be opened again. `http`: no socket opens, so chats go over HTTP. */
export type ConnectionStatus = 'connecting' | 'open' | 'waiting' | 'closed' | 'http';

export type ToSession =
  /** `sessionId`: the session to resume. */
  | { type: 'open'; token: string | undefined; canRenew: boolean; sessionId: string | undefined }
  | { type: 'renewed'; token: string | undefined }
  | { type: 'chat'; id: string; fields: Readonly<Record<string, unknown>> }
  /** Follows a chat of the resumed session. */
  | { type: 'follow'; id: string; runId: string }
  | { type: 'cancel'; id: string }
  | { type: 'servers'; servers: readonly AllowedServer[] }
  | { type: 'read'; id: string; server: AllowedServer }
  | { type: 'answer'; id: string; value: unknown };

export type FromSession =
  | { type: 'renew' }
  | { type: 'status'; status: ConnectionStatus }
  | { type: 'session'; id: string; isResumed: boolean }
  | { type: 'frame'; id: string; frame: Frame }
  | { type: 'end'; id: string; error?: { code: string; message: string } }
  | { type: 'input-request'; kind: 'confirmation' | 'input' | 'connect'; data: Readonly<Record<string, unknown>> }
  | { type: 'input-request-over'; id: string }
  | { type: 'read'; id: string; document?: unknown; error?: string };
