import type { ToolServerRecord } from '../core/registry.ts';
import type { RunContext } from '../core/run.ts';

const defaultKeyHeader = 'x-api-key';
const defaultKeyParameter = 'api_key';

/** What a call to a registered server carries: its own headers with this run's ids, and its credential. The credential wins on a clash. */
export function callHeaders(record: ToolServerRecord, run: RunContext | undefined): Record<string, string> {
  return mergeHeaders(expandAll(record.headers, run), credentialHeaders(record));
}

/** The key as a query parameter, for `query` authentication. */
export function callQuery(record: Pick<ToolServerRecord, 'authType' | 'authName' | 'key'>): Record<string, string> {
  return record.authType === 'query' && record.key !== undefined ? { [record.authName ?? defaultKeyParameter]: record.key } : {};
}

/** Open WebUI's `bearer` without a key sends nothing. Header names in lower case. */
export function credentialHeaders({
  authType,
  authName,
  key,
}: Pick<ToolServerRecord, 'authType' | 'authName' | 'key'>): Record<string, string> {
  if (key === undefined || key === '') return {};
  if (authType === 'bearer') return { authorization: `Bearer ${key}` };
  // RFC 7617, section 2: user-id ":" password, here in UTF-8.
  if (authType === 'basic') return { authorization: `Basic ${Buffer.from(key, 'utf8').toString('base64')}` };
  if (authType === 'header') return { [(authName ?? defaultKeyHeader).toLowerCase()]: key };
  return {};
}

/** Names in lower case; the later set wins. */
export function mergeHeaders(...sets: readonly Record<string, string>[]): Record<string, string> {
  return Object.fromEntries(sets.flatMap((headers) => Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])));
}

function expandAll(headers: Record<string, string>, run: RunContext | undefined): Record<string, string> {
  const values = new Map([
    ['USER_ID', run?.caller.id],
    ['CHAT_ID', run?.chatId],
    ['MESSAGE_ID', run?.messageId],
    ['RUN_ID', run?.runId],
  ]);
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, expand(value, values)]));
}

/** One pass, so that an id which looks like a placeholder stays what it is. Names without a value here stay as they stand. */
function expand(template: string, values: ReadonlyMap<string, string | undefined>): string {
  return template.replaceAll(/\{\{\s*([A-Z_]{1,40})\s*\}\}/g, (whole, name: string) =>
    values.has(name) ? encodeForHeader(values.get(name) ?? '') : whole,
  );
}

/** Chat and message ids come from the client: a line break would start another header, and a letter outside Latin-1 cannot be sent. */
function encodeForHeader(value: string): string {
  return value.toWellFormed().replaceAll(/[^\x20-\x7e]/gu, (character) => encodeURIComponent(character));
}
