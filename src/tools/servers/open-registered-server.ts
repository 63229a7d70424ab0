import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { Tool } from '../../core/tool.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import { createOpenApiTool } from '../openapi/call/openapi-tool.ts';
import { createRegisteredBudget } from '../openapi/convert/conversion-budget.ts';
import type { DocumentVersion } from '../openapi/load/load-document.ts';
import type { Conversion, Operation } from '../openapi/operation.ts';
import { callHeaders, sessionUserOf } from './connection-headers.ts';
import { everythingSent, maskOfEverythingSent } from './credentials-of.ts';
import { loadServerDocument, toOpenApiConnection } from './load-server-document.ts';
import { configValue, whyWithheld } from './server-rules.ts';

/** A registered server whose document or list has become functions. */
export interface OpenedServer {
  /** Those that may be offered. */
  functions: Operation[];
  /** Operations that became functions and are not offered, with the reason. */
  withheld: { operation: string; reason: string }[];
  /** Everything the document had, with what was renamed and omitted. */
  conversion: Conversion;
  /** What the document says about itself, and what a validator says about it: that only where it was asked for. */
  about: { info: JsonObject | undefined; version: string | undefined; remarks: string[] };
  /** By what it is known again; undefined where that cannot be said, as of a document in several files. */
  loaded: DocumentVersion | undefined;
  isChecked: boolean;
  /** The last lines that the server's process has written to stderr by now; absent where there is none. */
  stderr?: () => string[];
  /** Functions that are not offered until an administrator accepts their new definition; absent where there are none. */
  held?: HeldFunction[];
  createTool(operation: Operation, offeredName: string): Tool;
}

/** A function whose definition has changed since it was first seen. */
export interface HeldFunction {
  operation: Operation;
  changed: string[];
  fingerprint: string;
}

/** `unsupported`: trying again does not help. `reason` is for operators: it may name addresses. `isOpening`: nobody knows yet. */
export type Opening =
  | { type: 'opened'; server: OpenedServer }
  | { type: 'unreachable'; reason: string; isOpening?: true }
  | { type: 'unsupported'; reason: string };

export interface OpeningOptions {
  signal: AbortSignal;
  /** Whether a validator's remarks on the document are wanted, which take time: for administrators, not for chats. */
  isChecked: boolean;
  /** The server as it was loaded before; it is given again when its document has not changed. */
  known?: OpenedServer | undefined;
  /** How servers are opened that have no document. */
  openMcp?: OpenMcp | undefined;
}

/** Never rejects. */
export type OpenMcp = (record: ToolServerRecord, options: OpeningOptions) => Promise<Opening>;

/** Loads and converts. Never rejects: what a server does wrong is a value. */
export async function openServer(record: ToolServerRecord, send: SendOutbound, options: OpeningOptions): Promise<Opening> {
  const { known, openMcp } = options;
  const unsupported = whyUnsupported(record);
  if (unsupported !== undefined) return { type: 'unsupported', reason: unsupported };
  if (record.type === 'mcp') return openMcp?.(record, options) ?? { type: 'unsupported', reason: 'MCP servers are not opened here' };
  try {
    const server = (await loadRegistered(record, send, options)) ?? known;
    if (server !== undefined) return { type: 'opened', server };
    return {
      type: 'unreachable',
      reason: 'The server answers with HTTP 304 to an unconditional request for its document.',
    };
  } catch (error) {
    return { type: 'unreachable', reason: maskOfEverythingSent(record).text(error instanceof Error ? error.message : String(error)) };
  }
}

/** What this version cannot do is refused with a reason, never done in another way than was asked for. */
function whyUnsupported(record: ToolServerRecord): string | undefined {
  const unreadable = unreadableSecrets(record);
  if (unreadable.length > 0)
    return `its stored ${unreadable.join(', ')} cannot be read with this TOOLWHARF_SECRET; give new values, or set the secret they were stored with`;
  if (configValue(record, 'execution') === 'browser') return 'a registered server cannot be executed in browsers in this version';
  return undefined;
}

/** As the registry marks them in `extra`. Without them every call would go out with the wrong credentials, or none. A key that is not sent is not missed. */
function unreadableSecrets({ extra, authType }: ToolServerRecord): string[] {
  const marked = ownValue(extra, 'unreadable_secrets');
  const fields = Array.isArray(marked) ? marked.filter((field) => typeof field === 'string') : [];
  // Fields that the gateway has no word for are sent nowhere.
  return fields.filter((field) => (field === 'key' ? authType !== 'none' : field === 'path' || field.startsWith('headers.')));
}

/** Undefined when it is what is known already. */
async function loadRegistered(
  record: ToolServerRecord,
  send: SendOutbound,
  { signal, isChecked, known }: OpeningOptions,
): Promise<OpenedServer | undefined> {
  const { id, spec, url, path } = record;
  const isEnough = known?.loaded !== undefined && (known.isChecked || !isChecked);
  const loaded = await loadServerDocument(
    {
      url,
      path,
      document: spec,
      credentials: { headers: callHeaders(record, undefined), sessionUser: sessionUserOf(record, undefined) },
      trustFor: (origin) => ({ kind: 'configured', origin }),
    },
    send,
    {
      job: { budget: createRegisteredBudget(), isChecked, secrets: everythingSent(record) },
      reader: { kind: 'registered', caller: id, signal },
      takesFiles: true,
      known: isEnough ? known.loaded : undefined,
    },
  );
  if (loaded === undefined) return undefined;
  const { conversion, head, remarks } = loaded.opened;
  const judged = conversion.operations.map((operation) => ({ operation, reason: whyWithheld(operation, record) }));
  const connection = toOpenApiConnection(record, head, {
    trust: { kind: 'configured', origin: new URL(url).origin },
    send,
    headersFor: (run, security) => callHeaders(record, run, security),
  });
  const info = ownValue(head, 'info');
  return {
    functions: judged.flatMap(({ operation, reason }) => (reason === undefined ? [operation] : [])),
    withheld: judged.flatMap(({ operation: { method, path: template }, reason }) =>
      reason === undefined ? [] : [{ operation: `${method} ${template}`, reason }],
    ),
    conversion,
    about: { info: isJsonObject(info) ? info : undefined, version: textAt(head, 'openapi') ?? textAt(head, 'swagger'), remarks },
    loaded: loaded.version,
    isChecked,
    createTool: (operation, offeredName) =>
      createOpenApiTool({ operation, offeredName, label: `${id}/${operation.spec.name}`, server: id, connection }),
  };
}

function textAt(document: JsonObject, key: string): string | undefined {
  const value = ownValue(document, key);
  return typeof value === 'string' ? value : undefined;
}
