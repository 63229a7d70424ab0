import type { ToolServerRecord } from '../../core/stores/registry.ts';
import { gatewayUser } from '../../core/outbound.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { CredentialSet } from '../definitions/operation.ts';
import { applyCredential, type Credential } from './apply-credential.ts';

/**
 * The headers of a call to a registered server: those of the caller's request that the connection names, the connection's headers with this run's ids,
 * and its credential; the later ones win in a clash. `security`: the security requirements of the operation.
 */
export function callHeaders(
  record: Credential & Pick<ToolServerRecord, 'headers' | 'forwardedHeaders'>,
  run: RunContext | undefined,
  security?: readonly CredentialSet[],
): Record<string, string> {
  return serverHeaders(record, { ...forwardedHeaders(record, run), ...inLowerCase(expandAll(record.headers, run)) }, security);
}

/** The same for a server of a request, whose headers are sent as they are: their placeholders are the client's business. */
export function requestServerHeaders(
  server: Credential & { headers: Record<string, string> },
  security?: readonly CredentialSet[],
): Record<string, string> {
  return serverHeaders(server, server.headers, security);
}

/** The headers that a connection adds to a request, whatever the operation. Names are in lower case; later sets win. */
function serverHeaders(
  connection: Credential,
  headers: Record<string, string>,
  security: readonly CredentialSet[] | undefined,
): Record<string, string> {
  const sets = [headers, applyCredential(connection, security).headers];
  return Object.fromEntries(sets.flatMap((set) => Object.entries(set).map(([name, value]) => [name.toLowerCase(), value])));
}

/** The user for whom a request to this server carries a session token; undefined if its connection uses none. */
export function sessionUserOf({ authType }: Pick<Credential, 'authType'>, run: Pick<RunContext, 'caller'> | undefined): string | undefined {
  return authType === 'session' ? (run?.caller.id ?? gatewayUser) : undefined;
}

/** The query parameters that carry the key. */
export function callQuery(connection: Credential, security?: readonly CredentialSet[]): Record<string, string> {
  return applyCredential(connection, security).query;
}

/** The headers of the caller's request that calls to this server carry on; none where the run answers no request. */
export function forwardedHeaders(
  { forwardedHeaders: names }: Pick<ToolServerRecord, 'forwardedHeaders'>,
  run: RunContext | undefined,
): Record<string, string> {
  const read = run?.readHeader;
  if (names === undefined || read === undefined) return {};
  const sent = names.map((name) => [name, read(name)] as const);
  return Object.fromEntries(sent.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** Headers with their names in lower case. */
export function inLowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function expandAll(headers: Record<string, string>, run: RunContext | undefined): Record<string, string> {
  const { caller } = run ?? {};
  const values = new Map([
    ['USER_ID', caller?.person?.id ?? caller?.id],
    ['USER_NAME', caller?.person?.name],
    ['USER_EMAIL', caller?.person?.email],
    ['CHAT_ID', run?.chatId],
    ['MESSAGE_ID', run?.messageId],
    ['RUN_ID', run?.runId],
  ]);
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, expand(value, values)]));
}

const placeholder = /\{\{\s*([A-Z_]{1,40})\s*\}\}/g;

/** The parts of a header value that are the same in every call of a connection. */
export function fixedPartsOf(template: string): string[] {
  // No header has a line break.
  return template.replaceAll(placeholder, '\n').split('\n');
}

/** A single pass, so that an id that looks like a placeholder is not expanded. Unknown names stay as they are. */
function expand(template: string, values: ReadonlyMap<string, string | undefined>): string {
  return template.replaceAll(placeholder, (whole, name: string) => (values.has(name) ? encodeForHeader(values.get(name) ?? '') : whole));
}

/**
 * Chat and message ids come from the client: a line break would inject a header, and a character beyond Latin-1 cannot be sent. Two ids are never the
 * same text: `%` is encoded too, and so are spaces at the ends, which HTTP would drop.
 */
function encodeForHeader(value: string): string {
  return value.toWellFormed().replaceAll(/[^\x20-\x24\x26-\x7e]|^ +|(?<! ) +$/gu, (characters) => encodeURIComponent(characters));
}
