import { join } from 'node:path';
import type { Audit } from '../../core/audit.ts';
import type { CredentialStore, OwnCredentials } from '../../core/sign-in/credentials.ts';
import type { OAuthClientStore } from '../../core/sign-in/oauth-clients.ts';
import type { LessonMemory } from '../../core/models/model.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { Registry, ToolServerRecord } from '../../core/stores/registry.ts';
import { whenThere } from '../../shared/async/maybe-promise.ts';
import type { CallBrowser } from '../../core/tools/browser-call.ts';
import type { OfferChanges } from '../../core/tools/offer-changes.ts';
import type { ServerContents } from '../../core/tools/server-contents.ts';
import type { ToolServerInspector } from '../../core/tools/tool-server-report.ts';
import type { RunSubAgent } from '../../core/tools/tool.ts';
import { createHistoryTool } from '../../tools/catalog/history-tool.ts';
import { createPresetTools } from '../../tools/catalog/preset-tools.ts';
import { createToolCatalog, type ToolCatalog } from '../../tools/catalog/tool-catalog.ts';
import { createOAuthClient, type OAuthClient } from '../../tools/credentials/oauth/oauth-client.ts';
import { createOwnCredentials } from '../../tools/credentials/own-credentials.ts';
import type { OwnRecord } from '../../tools/definitions/own-use.ts';
import type { ToolSource } from '../../tools/definitions/tool-source.ts';
import { loadedContents } from '../../tools/mcp/contents/loaded-contents.ts';
import { createMcpServers } from '../../tools/mcp/mcp-servers.ts';
import type { CreateTransports } from '../../tools/mcp/transports/create-transports.ts';
import { refuseItself } from '../../tools/outgoing/refuse-itself.ts';
import { createOwnDocuments } from '../../tools/servers/own-documents.ts';
import { createCallerServers } from '../../tools/servers/caller-servers.ts';
import { createServerInspector } from '../../tools/servers/inspect-server.ts';
import { createOpeningMarks } from '../../tools/servers/opening-marks.ts';
import { createServerReconnector, type ServerNews } from '../../tools/servers/reconnect-servers.ts';
import { createRegisteredServers } from '../../tools/servers/registered-servers.ts';
import { createServerList, type ServerList } from '../../tools/servers/server-list.ts';
import type { AppContext } from '../app-context.ts';
import { logServerNews } from '../log-server-news.ts';
import { version } from '../version.ts';
import type { Extensions } from './compose-extensions.ts';
import type { Storage } from './compose-storage.ts';

/** Tool servers, MCP servers, the operator's functions, presets, and the search of stored chats. */
export interface Tools {
  catalog: ToolCatalog;
  servers: ServerList;
  inspector: ToolServerInspector;
  credentials: OwnCredentials;
  oauth: OAuthClient;
  /** Resources, templates and prompts of MCP servers. */
  contents: ServerContents;
  /** Drops what was opened and listed for a key and its people, or for one of them. */
  forgetAllOf: (ownerId: string) => void;
  /** Starts opening every enabled server, so that the first chat need not wait, and retries those that fail. */
  start(): void;
  /** Resolves when every MCP process has exited. */
  close(): Promise<void>;
}

interface ToolParts {
  storage: Storage;
  extensions: Extensions;
  runSubAgent: RunSubAgent;
  send: SendOutbound;
  lessons: LessonMemory;
  callBrowser: CallBrowser;
  /** Identifies this gateway to other gateways, and to itself, to detect loops. */
  gatewayId: string;
  changes: OfferChanges;
  audit: Audit;
}

export function composeTools({ config, logger, now, elapsed }: AppContext, parts: ToolParts): Tools {
  const { storage, extensions, runSubAgent, send, lessons, callBrowser, gatewayId, changes } = parts;
  const history = config.storeChats ? [createHistoryTool(storage.chats)] : [];
  return connectTools({
    ...storage,
    publicUrl: config.publicUrl,
    processFolder: (id) => join(config.dataDir, 'mcp', id),
    send: refuseItself(send, gatewayId),
    lessons,
    gatewayId,
    changes,
    audit: parts.audit,
    callBrowser,
    browserToolTimeoutMs: config.browserToolTimeoutMs,
    sources: [...history, ...extensions.sources, createPresetTools({ presets: storage.presets, runSubAgent })],
    now,
    elapsed,
    onServerNews: logServerNews(logger),
  });
}

export interface ToolOptions {
  registry: Registry;
  /** People's credentials, for servers that ask each person for one. */
  credentials: CredentialStore;
  /** Registrations with authorization servers. */
  oauthClients: OAuthClientStore;
  /** PUBLIC_URL. */
  publicUrl?: string | undefined;
  /** Where the processes of MCP servers run, by their ids. */
  processFolder?: ((id: string) => string) | undefined;
  send: SendOutbound;
  callBrowser: CallBrowser;
  browserToolTimeoutMs: number;
  /** Sources of functions that belong to no server. */
  sources?: readonly ToolSource[];
  /** Registered functions that backends have rejected, for reports. */
  lessons?: LessonMemory;
  gatewayId?: string;
  /** Where changes of what callers are offered are published. */
  changes?: Pick<OfferChanges, 'publish'> | undefined;
  /** Replaced by scripted peers in tests. */
  createTransports?: CreateTransports | undefined;
  /** Where it is recorded who has connected. */
  audit?: Audit | undefined;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Milliseconds of a monotonic clock, for delays: a wall clock that is set back would put off retries. */
  elapsed: () => number;
  /** Called once per change: a registered server becomes unusable or usable again, was given another id, and so on. */
  onServerNews?: (record: ToolServerRecord, news: ServerNews) => void;
}

/** Creates the parts in the order in which they need each other: servers, credentials, and what callers see of both. */
export function connectTools(options: ToolOptions): Tools {
  const { send, gatewayId, sources = [], callBrowser, browserToolTimeoutMs, now, elapsed } = options;
  const { mcp, marks, registered, list, reconnector } = openServers({ ...options, sources });
  const oauth = createOAuthClient({
    send,
    clients: options.oauthClients,
    publicUrl: options.publicUrl,
    signInOf: registered.signInOf,
    now,
  });
  const documents = createOwnDocuments({ send, gatewayId, now: elapsed });
  const credentials = createOwnCredentials({
    store: options.credentials,
    oauth,
    serversOf: async (caller) => (await list.permittedTo(caller)).map(({ record }) => record),
    allServers: list.all,
    audit: options.audit,
    now,
    onChanged(callerId, server) {
      mcp.forgetOwn(callerId, server);
      documents.forget(callerId, server);
      options.changes?.publish({ lists: ['tools', 'resources', 'prompts'], ownerId: callerId });
    },
  });
  const ownRecord: OwnRecord = (record, caller, refusal) => credentials.ownRecord(record, caller, refusal);
  const servers = createCallerServers({ registered, mcp, documents, credentials });
  const requested = { send, callBrowser, browserToolTimeoutMs };
  const catalog = createToolCatalog({ sources, list, servers, mcp, requested, elapsed });
  return {
    catalog,
    servers: list,
    credentials,
    oauth,
    inspector: createServerInspector({ servers: registered, send, mcp, gatewayId, lessons: options.lessons, now: elapsed }),
    contents: loadedContents({
      serversOf: list.wholeMcpServersOf,
      serverOf: async (id) => (await list.all()).find((record) => record.id === id),
      ownRecord,
      open: servers.findSession,
      gatewayId,
    }),
    forgetAllOf(ownerId) {
      mcp.forgetAllOf(ownerId);
      documents.forgetAllOf(ownerId);
      catalog.forgetAllOf(ownerId);
    },
    start: reconnector.start,
    async close() {
      reconnector.close();
      catalog.close();
      registered.close();
      documents.close();
      await mcp.close();
      await marks.close();
    },
  };
}

/** Registered servers: their sessions, the list of them, and the retries. */
function openServers({
  registry,
  send,
  gatewayId,
  sources,
  createTransports,
  processFolder,
  changes,
  now,
  elapsed,
  onServerNews,
}: Required<Pick<ToolOptions, 'sources'>> & ToolOptions) {
  const mcp = createMcpServers({
    send,
    now: elapsed,
    facts: registry,
    version,
    gatewayId,
    createTransports,
    processFolder,
    onOfferChanged: changes?.publish,
    onProcessEnded: (record, stderr) => onServerNews?.(record, { type: 'process_ended', stderr }),
    onNotificationsDropped: (record) => onServerNews?.(record, { type: 'notifications_dropped' }),
  });
  const marks = createOpeningMarks({ facts: registry, now });
  const onChanged = (): void => changes?.publish({ lists: ['tools', 'resources', 'prompts'] });
  const registered = createRegisteredServers({ send, openMcp: mcp.open, gatewayId, marks, onChanged, now: elapsed });
  const keepListed = (records: readonly ToolServerRecord[]): readonly ToolServerRecord[] => {
    registered.keepOnly(new Set(records.map(({ id }) => id)));
    mcp.keepOnly(records);
    return records;
  };
  const list = createServerList({ registry, servers: registered, sources, onListed: keepListed });
  const reconnector = createServerReconnector({
    servers: registered,
    // Also without a change: a chat that began before a server was deleted may have opened it since.
    listRecords: () => whenThere(list.all(), keepListed),
    now: elapsed,
    onNews: onServerNews,
  });
  return { mcp, marks, registered, list, reconnector };
}
