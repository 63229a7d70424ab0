import type { SendOutbound, Trust } from '../../core/outbound.ts';
import type { RunContext } from '../../core/run.ts';
import type { JsonObject } from '../../shared/json.ts';
import { withoutUndefined } from '../../shared/without-undefined.ts';
import type { OpenApiConnection } from '../openapi/call/openapi-tool.ts';
import { documentUrl, loadDocument, type DocumentVersion, type LoadOptions } from '../openapi/load/load-document.ts';
import { openDocumentAside, type DocumentReader } from '../openapi/load/open-document-aside.ts';
import type { OpenedDocument } from '../openapi/load/open-document.ts';
import { createBaseUrls } from '../openapi/load/server-base-url.ts';
import type { Credential } from './apply-credential.ts';
import { callQuery, sessionUserOf } from './connection-headers.ts';

/** Where the document of a server is to be had, registered or of a request. */
export interface ServerDocument {
  url: string;
  path: string;
  /** The document itself, where the connection has it. */
  document: JsonObject | string | undefined;
  /** What goes to the server's own origin with the request for the document; a document on another host is fetched without. */
  credentials: { headers: Record<string, string>; sessionUser: string | undefined };
  /** `origin`: of the document. */
  trustFor: (origin: string) => Trust;
}

/** Undefined where the server says that nothing has changed since `known`. @throws as `loadDocument` */
export async function loadServerDocument(
  { url, path, document, credentials, trustFor }: ServerDocument,
  send: SendOutbound,
  options: LoadOptions & { reader: DocumentReader },
): Promise<{ opened: OpenedDocument; version: DocumentVersion | undefined } | undefined> {
  if (document !== undefined) {
    const noFiles = (): Promise<never> => Promise.reject(new Error('a document that lies in no folder has no other files'));
    return { opened: await openDocumentAside({ ...options.job, source: document }, noFiles, options.reader), version: undefined };
  }
  const { origin } = new URL(documentUrl(url, path));
  const carried = origin === new URL(url).origin ? credentials : { headers: {}, sessionUser: undefined };
  const loaded = await loadDocument({ url, path, ...carried, trust: trustFor(origin) }, send, options);
  // A document in several files has no version: any of them may change.
  return loaded.type === 'unchanged' ? undefined : { opened: loaded.opened, version: loaded.opened.isOneFile ? loaded.version : undefined };
}

export interface ConnectionOptions {
  trust: Trust;
  send: SendOutbound;
  headersFor: OpenApiConnection['headersFor'];
}

/** How the operations of a server are called. */
export function toOpenApiConnection(
  server: Credential & { url: string; basePath?: string | undefined; timeoutMs?: number | undefined; maxResultBytes?: number | undefined },
  document: JsonObject,
  options: ConnectionOptions,
): OpenApiConnection {
  const { url, basePath, authType, key, timeoutMs, maxResultBytes } = server;
  return {
    ...options,
    baseUrlFor: createBaseUrls(document, url, basePath),
    queryFor: (security) => callQuery(server, security),
    ...(authType === 'session' && { sessionUserFor: (run: RunContext) => sessionUserOf(server, run) }),
    key: authType === 'none' ? undefined : key,
    ...withoutUndefined({ timeoutMs, maxResultBytes }),
  };
}
