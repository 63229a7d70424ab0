/** What the page and its session in the worker say to each other. */

/** A frame of the gateway; docs/browser-tools.md lists them. */
export interface Frame {
  type: string;
  data: Readonly<Record<string, unknown>>;
}

/** A tool server whose calls run in this browser. */
export interface OwnServer {
  url: string;
  /** Sent to this server alone, as `Authorization: Bearer`. */
  key?: string | undefined;
}

export type ToSession =
  | { type: 'open'; token: string | undefined; canRenew: boolean }
  | { type: 'renewed'; token: string | undefined }
  | { type: 'chat'; id: string; fields: Readonly<Record<string, unknown>> }
  | { type: 'cancel'; id: string }
  | { type: 'servers'; servers: readonly OwnServer[] }
  | { type: 'read'; id: string; server: OwnServer }
  | { type: 'answer'; id: string; value: unknown };

export type FromSession =
  | { type: 'renew' }
  | { type: 'status'; status: 'connecting' | 'open' | 'waiting' | 'closed' }
  | { type: 'frame'; id: string; frame: Frame }
  | { type: 'end'; id: string; error?: { code: string; message: string } }
  | { type: 'ask'; kind: 'confirmation' | 'input' | 'connect'; data: Readonly<Record<string, unknown>> }
  | { type: 'ask-over'; id: string }
  | { type: 'read'; id: string; document?: unknown; error?: string };
