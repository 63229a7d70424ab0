import { isJsonObject, ownValue } from '../core/json.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import { limits } from '../core/limits.ts';
import type { SendOutbound } from '../core/outbound.ts';
import type { ToolServerRecord } from '../core/registry.ts';
import type { Tool } from '../core/tool.ts';
import { callHeaders, callQuery } from './connection-headers.ts';
import { convertOperations } from './openapi/convert-operations.ts';
import { documentUrl, loadDocument } from './openapi/load-document.ts';
import { createOpenApiTool } from './openapi/openapi-tool.ts';
import type { Conversion, Operation } from './openapi/operation.ts';
import { parseDocumentAside } from './openapi/parse-document-aside.ts';
import { checkDocumentShape } from './openapi/parse-document.ts';
import { serverBaseUrl } from './openapi/server-base-url.ts';

/** A registered server whose document has become functions. */
export interface OpenedServer {
  /** Those that may be offered. */
  functions: Operation[];
  /** Operations that became functions and are not offered, with the reason. */
  withheld: { operation: string; reason: string }[];
  /** Everything the document had, with what was renamed and left out. */
  conversion: Conversion;
  /** What the document says about itself, and what a validator says about it: that only where it was asked for. */
  about: { info: JsonObject | undefined; version: string | undefined; remarks: string[] };
  createTool(operation: Operation, offeredName: string): Tool;
}

/** `unsupported`: trying again does not help. `reason` is for operators: it may name addresses. */
export type Opening =
  | { type: 'opened'; server: OpenedServer }
  | { type: 'unreachable'; reason: string }
  | { type: 'unsupported'; reason: string };

/** Says about a document what people should know. Never rejects. */
export type RemarkOnDocument = (document: JsonObject) => Promise<string[]>;

/** Loads and converts. Never rejects: what a server does wrong is a value. */
export function openRegisteredServer(record: ToolServerRecord, send: SendOutbound, signal: AbortSignal): Promise<Opening> {
  return openWithRemarks(record, send, { signal, remark: async () => [] });
}

/** The same, with remarks on the document, which take time: for administrators, not for chats. */
export async function openWithRemarks(
  record: ToolServerRecord,
  send: SendOutbound,
  { signal, remark }: { signal: AbortSignal; remark: RemarkOnDocument },
): Promise<Opening> {
  const unsupported = whyUnsupported(record);
  if (unsupported !== undefined) return { type: 'unsupported', reason: unsupported };
  try {
    const document = await documentOf(record, send, signal);
    const remarks = await remark(document);
    return { type: 'opened', server: toOpenedServer(record, { document, remarks }, send) };
  } catch (error) {
    return { type: 'unreachable', reason: error instanceof Error ? error.message : String(error) };
  }
}

/** What this version cannot do is left out and named, never done in another way than was asked for. */
function whyUnsupported(record: ToolServerRecord): string | undefined {
  if (record.type === 'mcp') return 'MCP servers need an MCP client, which this version does not have';
  if (record.authType === 'session') return 'auth_type "session" needs signed tokens, which this version does not issue';
  if (configValue(record, 'execution') === 'browser') return 'a registered server cannot be executed in browsers in this version';
  if (configValue(record, 'needs_approval') === true) return 'its calls need approval, which this version cannot ask for';
  return undefined;
}

function configValue(record: ToolServerRecord, key: string): JsonValue | undefined {
  const config = ownValue(record.extra, 'config');
  return isJsonObject(config) ? ownValue(config, key) : undefined;
}

async function documentOf(record: ToolServerRecord, send: SendOutbound, signal: AbortSignal): Promise<JsonObject> {
  const { spec, url, path } = record;
  if (typeof spec === 'string') return parseDocumentAside(spec, AbortSignal.any([signal, AbortSignal.timeout(limits.documentTimeoutMs)]));
  if (spec !== undefined) return checkDocumentShape(spec);
  const { origin } = new URL(documentUrl(url, path));
  // A document on another host is fetched without this server's credentials.
  const headers = origin === new URL(url).origin ? callHeaders(record, undefined) : {};
  return loadDocument({ url, path, headers, trust: { kind: 'configured', origin } }, send, signal);
}

function toOpenedServer(
  record: ToolServerRecord,
  { document, remarks }: { document: JsonObject; remarks: string[] },
  send: SendOutbound,
): OpenedServer {
  const conversion = convertOperations(document);
  const judged = conversion.operations.map((operation) => ({ operation, reason: whyWithheld(operation, record) }));
  const connection = {
    baseUrl: serverBaseUrl(document, record.url, record.basePath),
    trust: { kind: 'configured', origin: new URL(record.url).origin } as const,
    send,
    headersFor: (run: Parameters<typeof callHeaders>[1]) => callHeaders(record, run),
    query: callQuery(record),
    ...(record.timeoutMs !== undefined && { timeoutMs: record.timeoutMs }),
    ...(record.maxResultBytes !== undefined && { maxResultBytes: record.maxResultBytes }),
  };
  return {
    functions: judged.flatMap(({ operation, reason }) => (reason === undefined ? [operation] : [])),
    withheld: judged.flatMap(({ operation: { method, path }, reason }) =>
      reason === undefined ? [] : [{ operation: `${method} ${path}`, reason }],
    ),
    conversion,
    about: { info: objectAt(document, 'info'), version: textAt(document, 'openapi') ?? textAt(document, 'swagger'), remarks },
    createTool: (operation, offeredName) =>
      createOpenApiTool({ operation, offeredName, label: `${record.id}/${operation.spec.name}`, server: record.id, connection }),
  };
}

function objectAt(document: JsonObject, key: string): JsonObject | undefined {
  const value = ownValue(document, key);
  return isJsonObject(value) ? value : undefined;
}

function textAt(document: JsonObject, key: string): string | undefined {
  const value = ownValue(document, key);
  return typeof value === 'string' ? value : undefined;
}

/** Exact names, the document's or the legal one: `search` must not let `web_search` through. A blocked name stays blocked. */
function whyWithheld(operation: Operation, record: ToolServerRecord): string | undefined {
  const isNamed = (name: JsonValue): boolean => name === operation.operationId || name === operation.spec.name;
  const needsApproval = configValue(record, 'needs_approval');
  if (Array.isArray(needsApproval) && needsApproval.some(isNamed)) return 'it needs approval, which this version cannot ask for';
  const blocked = record.functionFilter.filter((entry) => entry.startsWith('!')).map((entry) => entry.slice(1));
  const allowed = record.functionFilter.filter((entry) => !entry.startsWith('!'));
  if (blocked.some(isNamed)) return 'function_name_filter_list blocks it';
  return allowed.length === 0 || allowed.some(isNamed) ? undefined : 'function_name_filter_list does not name it';
}
