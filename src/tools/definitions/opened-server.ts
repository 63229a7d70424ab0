import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { Tool } from '../../core/tools/tool.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { Conversion, Operation } from './operation.ts';
import type { OwnUse } from './own-use.ts';

/** A registered server whose document or tool list was converted to functions. */
export interface OpenedServer {
  /** The functions that may be offered. */
  functions: Operation[];
  /** The same for the same functions; absent: unknown, but a document that has not changed keeps its `OpenedServer`. */
  fingerprint?: string;
  /** Functions that the server's rules withhold, with the reason. */
  withheld: { operation: string; reason: string }[];
  /** The whole conversion, with what was renamed and omitted. */
  conversion: Conversion;
  /**
   * The document's own information. `notes`: a validator's findings, only if they were requested. `documentUrl`: where it was found, if not at the address
   * that the connection states.
   */
  about: { info: JsonObject | undefined; version: string | undefined; notes: string[]; documentUrl?: string };
  /** How people sign in, where the document says so. */
  signIn?: DocumentSignIn;
  /** The version of the document; undefined if it has none, as with a document in several files. */
  loaded: DocumentVersion | undefined;
  isChecked: boolean;
  /** The last lines of stderr of the server's process; absent without a process. */
  stderr?: () => string[];
  /** Functions that are not offered until an administrator accepts their changed definition; absent if there are none. */
  held?: HeldFunction[];
  createTool(operation: Operation, offeredName: string): Tool;
  /** The same function, called with one person's credential. */
  createOwnTool(operation: Operation, offeredName: string, use: OwnUse): Tool | Promise<Tool>;
}

/** A function whose definition has changed since it was first seen. */
export interface HeldFunction {
  operation: Operation;
  changed: string[];
  fingerprint: string;
  /** As the server describes it now, and as it did when it was pinned; `pinned` is undefined if its texts were not stored. */
  definition: JsonObject;
  pinned: JsonObject | undefined;
}

/** How a document describes sign-in: its first `oauth2` scheme with the flow of authorization codes, else its `openIdConnect` scheme. */
export type DocumentSignIn =
  | { type: 'oauth2'; authorizeUrl: string; tokenUrl: string; scopes: string[] }
  | { type: 'openIdConnect'; url: string; scopes: string[] };

/** Shows whether a document has changed since it was loaded. */
export interface DocumentVersion {
  etag?: string;
  lastModified?: string;
  /** SHA-256 of its bytes, for servers that send neither of the others. */
  hash: string;
  place?: DocumentPlace;
}

/** Where a document was found. */
export interface DocumentPlace {
  /** The server that it describes: calls go below it. */
  url: string;
  /** The document's own address. */
  address: string;
  /** The address says nothing about the server: its own servers, relative to the address, are followed to the letter. */
  isItself: boolean;
}

/**
 * Why a server could not be opened. `opening`: the attempt is still running. `skipped`: opening it has ended the gateway. `denied`: the egress rules
 * forbid its address. `unauthorized`, `forbidden`, `refused`: it answered with 401, 403, or another error that a retry would not change. `failed`:
 * anything else, such as no connection or a malformed answer.
 */
export type UnreachableCause = 'opening' | 'skipped' | 'denied' | 'unauthorized' | 'forbidden' | 'refused' | 'failed';

/**
 * The outcome of opening a server. `unsupported`: retrying does not help; `needsCredential`: the server lists its functions only to people who have
 * given their own credential. `wantedScopes`: it demands a token with these. `reason` is for operators: it may contain addresses.
 */
export type Opening =
  | { type: 'opened'; server: OpenedServer }
  | { type: 'unreachable'; reason: string; cause: UnreachableCause; wantedScopes?: readonly string[] }
  | { type: 'unsupported'; reason: string; needsCredential?: true };

/** Whether the server answered and rejected the request. */
export function isRejected(opening: Opening): boolean {
  return opening.type === 'unreachable' && ['unauthorized', 'forbidden', 'refused'].includes(opening.cause);
}

/** Whether the server asks for another credential, or for one at all. */
export function wantsCredential(opening: Opening): boolean {
  return opening.type === 'unreachable' && (opening.cause === 'unauthorized' || opening.cause === 'forbidden');
}

/** How an attempt to open a server is made. */
export interface OpeningAttempt {
  signal: AbortSignal;
  /** Whether to validate the document, which takes time: for administrators, not for chats. */
  isChecked: boolean;
  /** Called when a server that stays connected reports that its functions have changed. */
  onListChanged?: () => void;
}

/** Opens an MCP server. Never rejects. */
export type OpenMcp = (record: ToolServerRecord, attempt: OpeningAttempt) => Promise<Opening>;

/** A failed server is not retried for this long, so that not every chat waits for it. */
export const failureMemoryMs = 10_000;
