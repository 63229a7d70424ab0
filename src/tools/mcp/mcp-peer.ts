import type { RequestMcpServer } from '../../core/chat/chat.ts';
import type { Trust } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { RunContext } from '../../core/runs/run.ts';
import { secretsInUrl } from '../../shared/secrets/secret-urls.ts';
import { createSecretMask, type SecretMask } from '../../shared/secrets/secret-mask.ts';
import { withoutUndefined } from '../../shared/json/without-undefined.ts';
import { callHeaders, callQuery, forwardedHeaders, requestServerHeaders, sessionUserOf } from '../outgoing/connection-headers.ts';
import { everythingSent, maskOfCredentials, maskOfEverythingSent } from '../outgoing/secrets-to-mask.ts';

/** Pages of the tool list of such a server: a thousand tools, a hundred on a page. */
const requestMcpPages = 10;
/** The schemas of all tools of one server, against hostile ones: as many as a document may have. One message has at most half of it. */
export const mcpSchemasBytes = 16 * 1024 * 1024;

/** An MCP server as its connection and its calls need to know it, registered or from a request. */
export interface McpPeer {
  /** In messages and events: the id of a registered server, the label of one from a request. */
  readonly id: string;
  readonly name?: string;
  readonly url: string;
  /** The server is a process of this machine; only for registered ones. */
  readonly process?: ToolServerRecord['process'];
  readonly trust: Trust;
  /** The only version of the protocol that is spoken with it. */
  readonly protocolVersion?: string;
  readonly timeoutMs?: number;
  readonly maxResultBytes?: number;
  /** Redacts messages, documents and reports, which must not repeat anything that was sent. */
  readonly mask: SecretMask;
  /** Redacts results: an id of the run, sent in a header, may be in one. */
  readonly credentialMask: SecretMask;
  /** Both masks for one run, where its calls carry more than others; undefined where they do not. */
  masksFor?(run: RunContext): { mask: SecretMask; credentialMask: SecretMask };
  /** Whether an administrator accepts changed definitions of its tools. */
  readonly isReviewed: boolean;
  /** Bytes of the schemas of all its tools. */
  readonly schemasBytes: number;
  /** Pages of its tool list. */
  readonly listPages?: number;
  headersFor(run: RunContext | undefined): Record<string, string>;
  /** Query parameters that carry a key. */
  query(): Record<string, string>;
  /** The user for whom a session token is sent. */
  sessionUserFor(run: RunContext | undefined): string | undefined;
}

export function registeredPeer(record: ToolServerRecord): McpPeer {
  const { id, name, url, process, protocolVersion, timeoutMs, maxResultBytes } = record;
  return {
    id,
    url,
    ...withoutUndefined({ name, process, protocolVersion, timeoutMs, maxResultBytes }),
    // The URL of a process only names it.
    trust: { kind: 'configured', origin: URL.parse(url)?.origin ?? '' },
    mask: maskOfEverythingSent(record),
    credentialMask: maskOfCredentials(record),
    isReviewed: true,
    schemasBytes: mcpSchemasBytes,
    headersFor: (run) => callHeaders(record, run),
    ...(record.forwardedHeaders && { masksFor: (run) => masksWith(record, forwardedHeaders(record, run)) }),
    query: () => callQuery(record),
    sessionUserFor: (run) => sessionUserOf(record, run),
  };
}

function masksWith(record: ToolServerRecord, sent: Record<string, string>): ReturnType<NonNullable<McpPeer['masksFor']>> {
  const connection = { ...record, headers: { ...sent, ...record.headers } };
  return { mask: maskOfEverythingSent(connection), credentialMask: maskOfCredentials(record, sent) };
}

/** A registered server as one person sees it, whose record has that person's key, which may be refreshed: what it lists is reviewed by nobody else. */
export function ownPeer(own: () => ToolServerRecord): McpPeer {
  let known = own();
  let peer = registeredPeer(known);
  const latest = (): McpPeer => {
    const record = own();
    if (record !== known) [known, peer] = [record, registeredPeer(record)];
    return peer;
  };
  return {
    ...peer,
    isReviewed: false,
    get mask() {
      return latest().mask;
    },
    get credentialMask() {
      return latest().credentialMask;
    },
    ...(peer.masksFor && { masksFor: (run) => latest().masksFor?.(run) ?? latest() }),
    headersFor: (run) => latest().headersFor(run),
    query: () => latest().query(),
    sessionUserFor: (run) => latest().sessionUserFor(run),
  };
}

/** `mayReachPrivate`: of the caller. `schemasBytes`: its share of what the servers of the request may have together. */
export function requestPeer(
  { label, url, headers, authorization }: RequestMcpServer,
  { mayReachPrivate, schemasBytes }: { mayReachPrivate: boolean; schemasBytes: number },
): McpPeer {
  const connection =
    authorization === undefined ? { authType: 'none' as const, headers } : { authType: 'bearer' as const, key: authorization, headers };
  const sent = requestServerHeaders(connection);
  const mask = createSecretMask([...everythingSent(connection), ...secretsInUrl(url)]);
  return {
    id: label,
    url,
    trust: { kind: 'request', mayReachPrivate },
    mask,
    // The sender of a request chooses its headers, so none of them is an id of the run.
    credentialMask: mask,
    isReviewed: false,
    schemasBytes,
    listPages: requestMcpPages,
    headersFor: () => sent,
    query: () => ({}),
    sessionUserFor: () => undefined,
  };
}
