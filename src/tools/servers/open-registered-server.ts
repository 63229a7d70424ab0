import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import { toolDocumentPath } from '../../core/tools/gateway-chain.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { demandedScopes } from '../credentials/oauth/bearer-challenge.ts';
import { createOpenApiTool, type OpenApiConnection } from '../openapi/call/openapi-tool.ts';
import { createRegisteredBudget } from '../openapi/conversion-budget.ts';
import { asksForCredential, listsToPeopleAlone } from '../credentials/own-credentials.ts';
import { wantsCredential, type OpenedServer, type Opening, type OpeningAttempt, type OpenMcp } from '../definitions/opened-server.ts';
import { callHeaders, callQuery, sessionUserOf } from '../outgoing/connection-headers.ts';
import { everythingSent, maskOfEverythingSent } from '../outgoing/secrets-to-mask.ts';
import type { Operation } from '../definitions/operation.ts';
import type { OwnUse } from '../definitions/own-use.ts';
import { CredentialRefused, documentUrl, withoutQuery } from '../openapi/load/load-document.ts';
import { loadServerDocument, toOpenApiConnection } from './load-server-document.ts';
import { configValue, whyWithheld } from '../definitions/server-rules.ts';

interface OpeningOptions extends OpeningAttempt {
  /** The server as it was loaded before; returned again if its document has not changed. */
  known?: OpenedServer | undefined;
  /** Opens MCP servers, which have no document. */
  openMcp?: OpenMcp | undefined;
  /** This gateway's own id, so that it does not offer its own functions again. */
  gatewayId?: string | undefined;
}

/** Loads and converts a server's document. Never rejects: a failure is a value. */
export async function openServer(record: ToolServerRecord, send: SendOutbound, options: OpeningOptions): Promise<Opening> {
  const { known, openMcp } = options;
  const unsupported = whyUnsupported(record);
  if (unsupported !== undefined) return { type: 'unsupported', reason: unsupported };
  if (record.type === 'mcp') return openMcp?.(record, options) ?? { type: 'unsupported', reason: 'MCP servers cannot be opened here' };
  try {
    const server = (await loadRegistered(record, send, options)) ?? known;
    if (server !== undefined) return { type: 'opened', server };
    return { type: 'unreachable', reason: 'The server answers an unconditional request for its document with HTTP 304.', cause: 'failed' };
  } catch (error) {
    return {
      type: 'unreachable',
      reason: maskOfEverythingSent(record).text(error instanceof Error ? error.message : String(error)),
      cause: error instanceof CredentialRefused ? error.reason : 'failed',
    };
  }
}

/**
 * Like `openServer`, without anybody's credential. An API that shows its document to nobody without one, where each person has their own, is usable for people who have
 * given theirs.
 */
export async function openForEverybody(record: ToolServerRecord, send: SendOutbound, options: OpeningOptions): Promise<Opening> {
  const opening = await openServer(record, send, options);
  if (!asksForCredential(record) || !wantsCredential(opening)) return opening;
  return { type: 'unsupported', reason: listsToPeopleAlone(record), needsCredential: true };
}

/** A record that this version cannot honour is refused with a reason, never used in another way. */
function whyUnsupported(record: ToolServerRecord): string | undefined {
  const unreadable = unreadableSecrets(record);
  if (unreadable.length > 0)
    return `its stored ${unreadable.join(', ')} cannot be decrypted with the current TOOLWHARF_SECRET; enter new values, or restore the secret they were stored with`;
  if (configValue(record, 'execution') === 'browser') return 'a registered server cannot be executed in browsers in this version';
  return undefined;
}

/**
 * The secrets that the registry has marked as unreadable in `extra`. Calls would go out with wrong credentials or none. A key that is not sent does
 * not count.
 */
function unreadableSecrets({ extra, authType }: ToolServerRecord): string[] {
  const marked = ownValue(extra, 'unreadable_secrets');
  const fields = Array.isArray(marked) ? marked.filter((field) => typeof field === 'string') : [];
  // Fields that the gateway does not know are never sent.
  return fields.filter((field) =>
    field === 'key' ? authType !== 'none' : field === 'path' || field === 'oauth.client_secret' || field.startsWith('headers.'),
  );
}

/** Undefined if the document has not changed. */
async function loadRegistered(
  record: ToolServerRecord,
  send: SendOutbound,
  { signal, isChecked, known, gatewayId }: OpeningOptions,
): Promise<OpenedServer | undefined> {
  const { id, spec, url, path } = record;
  const isKnownSufficient = known?.loaded !== undefined && (known.isChecked || !isChecked);
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
      job: { budget: createRegisteredBudget(), isChecked, secrets: everythingSent(record), ...(gatewayId !== undefined && { gatewayId }) },
      reader: { kind: 'registered', caller: id, signal },
      takesFiles: true,
      known: isKnownSufficient ? known.loaded : undefined,
    },
  );
  if (loaded === undefined) return undefined;
  const { opened, place } = loaded;
  const { conversion, head, notes, signIn } = opened;
  const judged = conversion.operations.map((operation) => ({ operation, reason: whyWithheld(operation, record) }));
  const connection = toOpenApiConnection(
    record,
    { document: head, place },
    {
      trust: { kind: 'configured', origin: new URL(url).origin },
      send,
      headersFor: (run, security) => callHeaders(record, run, security),
    },
  );
  const connectionOf = ({ own, onRefused, onScopesWanted }: OwnUse): OpenApiConnection => ({
    ...connection,
    async send(request) {
      const response = await send(request);
      const scopes = await demandedScopes(response);
      if (response.status === 401) onRefused?.(scopes);
      else if (scopes.length > 0) onScopesWanted?.(scopes);
      return response;
    },
    headersFor: (run, security) => callHeaders(own, run, security),
    queryFor: (security) => callQuery(own, security),
    key: own.key,
  });
  const describe = (operation: Operation, offeredName: string) => ({
    operation,
    offeredName,
    label: `${id}/${operation.spec.name}`,
    server: id,
  });
  const info = ownValue(head, 'info');
  return {
    functions: judged.flatMap(({ operation, reason }) => (reason === undefined ? [operation] : [])),
    withheld: judged.flatMap(({ operation: { method, path: template }, reason }) =>
      reason === undefined ? [] : [{ operation: `${method} ${template}`, reason }],
    ),
    conversion,
    about: {
      info: isJsonObject(info) ? info : undefined,
      version: textAt(head, 'openapi') ?? textAt(head, 'swagger'),
      notes: [...notes, ...noteOfGateway(info, conversion.operations)],
      ...(place !== undefined && place.address !== documentUrl(url, path) && { documentUrl: withoutQuery(place.address) }),
    },
    ...(signIn && { signIn }),
    loaded: loaded.version,
    isChecked,
    createTool: (operation, offeredName) => createOpenApiTool({ ...describe(operation, offeredName), connection }),
    createOwnTool: (operation, offeredName, use) =>
      createOpenApiTool({ ...describe(operation, offeredName), connection: connectionOf(use) }),
  };
}

/** A gateway's own API instead of its functions, most likely of this gateway. */
function noteOfGateway(info: JsonValue | undefined, operations: readonly Operation[]): string[] {
  const isGateway = isJsonObject(info) && info['title'] === 'toolwharf' && operations.some(({ path }) => path === '/v1/chat/completions');
  if (!isGateway) return [];
  return [
    `This is the API of a toolwharf, with which programs chat and administrators change it. If it is this gateway, delete the connection: its functions are available already. The functions of another one are at its path ${toolDocumentPath}.`,
  ];
}

function textAt(document: JsonObject, key: string): string | undefined {
  const value = ownValue(document, key);
  return typeof value === 'string' ? value : undefined;
}
