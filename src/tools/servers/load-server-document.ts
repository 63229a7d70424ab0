import type { SendOutbound, Trust } from '../../core/outbound.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { withoutUndefined } from '../../shared/json/without-undefined.ts';
import type { OpenApiConnection } from '../openapi/call/openapi-tool.ts';
import { findDocument } from '../openapi/load/find-document.ts';
import { documentUrl, type LoadOptions } from '../openapi/load/load-document.ts';
import type { DocumentPlace, DocumentVersion } from '../definitions/opened-server.ts';
import { openForeignDocument, type DocumentReader } from '../openapi/load/open-foreign-document.ts';
import type { OpenedDocument } from '../openapi/load/open-document.ts';
import { createBaseUrls } from '../openapi/document/server-base-url.ts';
import type { Credential } from '../outgoing/apply-credential.ts';
import { callQuery, sessionUserOf } from '../outgoing/connection-headers.ts';
import { headerSecrets } from '../outgoing/secrets-to-mask.ts';

/** How the document of a server is obtained, registered or from a request. */
interface ServerDocument {
  url: string;
  path: string;
  /** The document itself, if the connection includes it. */
  document: JsonObject | string | undefined;
  /** Sent with the request for the document to the server's own origin; a document on another host is fetched without. */
  credentials: { headers: Record<string, string>; sessionUser: string | undefined };
  /** `origin`: that of the document. */
  trustFor: (origin: string) => Trust;
}

export interface LoadedServerDocument {
  opened: OpenedDocument;
  version: DocumentVersion | undefined;
  /** Undefined if the connection includes the document. */
  place: DocumentPlace | undefined;
}

/** Undefined if the document has not changed since `known`. @throws as `loadDocument` */
export async function loadServerDocument(
  { url, path, document, credentials, trustFor }: ServerDocument,
  send: SendOutbound,
  options: LoadOptions & { reader: DocumentReader },
): Promise<LoadedServerDocument | undefined> {
  if (document !== undefined) {
    const noFiles = (): Promise<never> => Promise.reject(new Error('a document that was supplied inline cannot reference other files'));
    return {
      opened: await openForeignDocument({ ...options.job, source: document }, noFiles, options.reader),
      version: undefined,
      place: undefined,
    };
  }
  const { origin } = new URL(documentUrl(url, path));
  const sentCredentials = origin === new URL(url).origin ? credentials : { headers: {}, sessionUser: undefined };
  const address = { url, path, ...sentCredentials, trust: trustFor(origin) };
  const loaded = await findDocument(address, send, { ...options, isThorough: options.reader.kind === 'registered' });
  if (loaded.type === 'unchanged') return undefined;
  const { opened, place } = loaded;
  // A document in several files has no version, because any of them may change.
  return { opened, place, version: opened.isOneFile ? { ...loaded.version, place } : undefined };
}

export interface DescribedServer {
  document: JsonObject;
  place: DocumentPlace | undefined;
}

export interface ConnectionOptions {
  trust: Trust;
  send: SendOutbound;
  headersFor: OpenApiConnection['headersFor'];
}

/** The connection over which the operations of a server are called. */
export function toOpenApiConnection(
  server: Credential &
    Parameters<typeof headerSecrets>[0] & {
      url: string;
      basePath?: string | undefined;
      timeoutMs?: number | undefined;
      maxResultBytes?: number | undefined;
    },
  { document, place }: DescribedServer,
  options: ConnectionOptions,
): OpenApiConnection {
  const { url, basePath, authType, key, timeoutMs, maxResultBytes } = server;
  return {
    ...options,
    baseUrlFor: createBaseUrls(document, place ?? url, basePath),
    queryFor: (security) => callQuery(server, security),
    ...(authType === 'session' && { sessionUserFor: (run: RunContext) => sessionUserOf(server, run) }),
    key: authType === 'none' ? undefined : key,
    headerSecrets: headerSecrets(server),
    ...withoutUndefined({ timeoutMs, maxResultBytes }),
  };
}
