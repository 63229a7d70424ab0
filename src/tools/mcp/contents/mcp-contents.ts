import type { Client, CompleteResult } from '@modelcontextprotocol/client';
import type { Caller } from '../../../core/callers/caller.ts';
import { GatewayError } from '../../../core/errors.ts';
import { chainKey, whyLooped } from '../../../core/tools/gateway-chain.ts';
import { limits } from '../../../core/limits.ts';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import type { RunContext } from '../../../core/runs/run.ts';
import type { ContentsAsker, ContentsKind, ServerContents } from '../../../core/tools/server-contents.ts';
import { asSentence } from '../../../shared/text/as-sentence.ts';
import { isContainer, isDeeperThan, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import { howToConnect } from '../../credentials/own-credentials.ts';
import type { OwnRecord, OwnToolServer } from '../../definitions/own-use.ts';
import { maskOfCredentials } from '../../outgoing/secrets-to-mask.ts';
import { readName, readUri, type OwnName } from './contents-names.ts';
import { isViewBlocked, isWithheld } from './contents-rules.ts';
import { convertContent, convertContents, convertResource, type ResourceContents } from './convert-contents.ts';
import { explainMcpFailure, type McpFailure } from '../explain-mcp-failure.ts';
import { keepWatching } from './keep-watching.ts';
import { listContents, type OwnPage } from './list-contents.ts';
import type { OpenConnection } from '../open-connection.ts';
import type { McpSession } from '../sessions/mcp-session.ts';

/** Reading a resource and getting a prompt, where the connection has no time limit of its own. */
const mcpContentsMs = 60_000;

export interface McpContentsOptions {
  /** The enabled MCP servers of which the caller may use everything, in the order of the registry. */
  serversOf: (caller: Caller) => Promise<ToolServerRecord[]>;
  /** Any registered server. */
  serverOf: (id: string) => Promise<ToolServerRecord | undefined>;
  /** A server as the caller uses it; undefined if it needs a credential that the caller has not given. */
  ownRecord: OwnRecord;
  /** The session of a server, opened if need be; undefined if it cannot be. `record`: as the caller uses it. @throws the signal's reason */
  open: (record: ToolServerRecord, asker: ContentsAsker) => Promise<McpSession | undefined>;
  /** This gateway's own id, so that it does not list its own contents again. */
  gatewayId?: string | undefined;
}

type Send<Result> = (client: Client, options: { signal: AbortSignal; timeout: number }) => Promise<Result>;

/** The request that lists each kind, and the capability of servers that have it. */
const listings = {
  resources: { method: 'resources/list', capability: 'resources' },
  resourceTemplates: { method: 'resources/templates/list', capability: 'resources' },
  prompts: { method: 'prompts/list', capability: 'prompts' },
} as const satisfies Record<ContentsKind, unknown>;

/** A request that changes nothing is sent once more, over a new connection. */
const attempts = 2;
/** Values for one argument, as the specification bounds them. */
const maxCompletions = 100;

export function createMcpContents({ serversOf, serverOf, ownRecord, open, gatewayId = '' }: McpContentsOptions): ServerContents {
  /** @throws GatewayError */
  function request<Result>(record: ToolServerRecord, asker: ContentsAsker, send: Send<Result>): Promise<Result> {
    const { caller, signal } = asker;
    const run: RunContext = { runId: '', caller, chatId: undefined, messageId: undefined, sessionId: undefined, signal };
    const timeout = record.timeoutMs ?? mcpContentsMs;
    return useConnection(record, asker, (used) => used.request(run, (client, ended) => send(client, { signal: ended, timeout })));
  }

  /** @throws GatewayError */
  async function useConnection<Result>(
    record: ToolServerRecord,
    asker: ContentsAsker,
    work: (connection: OpenConnection) => Promise<Result>,
  ): Promise<Result> {
    const { signal } = asker;
    for (let attempt = 1; ; attempt += 1) {
      const session = await open(record, asker);
      if (session === undefined) throw unreachable(record);
      const used = session.connection.current();
      try {
        return await work(used);
      } catch (error) {
        signal.throwIfAborted();
        const failure = explainMcpFailure(error);
        const mayHelp = failure.isSessionLost === true || failure.kind === 'never-sent' || failure.kind === 'maybe-sent';
        if (!mayHelp || attempt >= attempts) throw toGatewayError(record, failure, asSentence(session.peer.mask.text(failure.message)));
        session.connection.replace(used);
      }
    }
  }

  async function fetchPage(
    kind: ContentsKind,
    record: ToolServerRecord,
    { cursor, gateways, asker }: { cursor: string | undefined; gateways: readonly string[]; asker: ContentsAsker },
  ): Promise<OwnPage> {
    const { method, capability } = listings[kind];
    const params = { ...(cursor !== undefined && { cursor }), _meta: { [chainKey]: [gatewayId, ...gateways] } };
    try {
      return await request(record, asker, async (client, { signal }) => {
        if (client.getServerCapabilities()?.[capability] === undefined) return { entries: [] };
        const answer: Partial<Record<ContentsKind, unknown>> & { nextCursor?: string | undefined } = await client.request(
          { method, params },
          { signal, timeout: limits.mcpListTimeoutMs },
        );
        return withoutUndefined({ entries: answer[kind] as JsonObject[], nextCursor: answer.nextCursor });
      });
    } catch (error) {
      asker.signal.throwIfAborted();
      if (error instanceof GatewayError) return { entries: [] };
      throw error;
    }
  }

  /** @throws GatewayError `not_found`, `credential_required` */
  async function requireServer(name: AskedName | undefined, asker: ContentsAsker, what: string): Promise<ToolServerRecord> {
    return requireOwn(await requirePermitted(name, asker, what), asker.caller);
  }

  /** @throws GatewayError `not_found` */
  async function requirePermitted(name: AskedName | undefined, { caller }: ContentsAsker, what: string): Promise<ToolServerRecord> {
    const record = name && (await serversOf(caller)).find(({ id }) => id === name.server);
    if (name === undefined || record === undefined || isWithheld(name.kind, name.own, record)) throw notFound(what);
    return record;
  }

  /** @throws GatewayError `credential_required` */
  async function requireOwn(record: ToolServerRecord, caller: Caller): Promise<ToolServerRecord> {
    const own = await ownRecord(record, caller);
    if (own === undefined) throw new GatewayError('credential_required', howToConnect(record));
    return own;
  }

  async function readFrom(record: ToolServerRecord, uri: string, asker: ContentsAsker): Promise<ResourceContents[]> {
    const answer = await request(record, asker, (client, options) =>
      client.request({ method: 'resources/read', params: { uri } }, options),
    );
    return answer.contents.slice(0, limits.mcpContentBlocks);
  }

  return {
    async list(kind, { cursor, gateways }, asker) {
      // Gateways may be each other's MCP servers: none gets its own contents back, and the request ends somewhere.
      if (whyLooped(gateways, gatewayId) !== undefined) return { items: [] };
      const ofCaller = (record: ToolServerRecord): Promise<OwnToolServer | undefined> =>
        ownRecord(record, asker.caller).catch((error: unknown) => {
          // As with a server that cannot be reached.
          if (error instanceof GatewayError) return undefined;
          throw error;
        });
      const records = (await Promise.all((await serversOf(asker.caller)).map(ofCaller))).filter((record) => record !== undefined);
      const servers = records.map((record) => ({
        id: record.id,
        fetch: (ownCursor: string | undefined) => fetchPage(kind, record, { cursor: ownCursor, gateways, asker }),
        convert: (entries: readonly JsonObject[]) => convertContents(kind, entries, { record, mask: maskOfCredentials(record) }),
      }));
      return listContents(servers, cursor);
    },
    async read(uri, asker) {
      const name = withKind('resources', readUri(uri));
      const record = await requireServer(name, asker, `resource "${shown(uri)}"`);
      const server = { record, mask: maskOfCredentials(record) };
      const contents = (await readFrom(record, name?.own ?? '', asker)).map((entry) => convertResource(entry, server));
      return requirePassable(record, { contents });
    },
    async watch(uri, asker, watcher) {
      const name = withKind('resources', readUri(uri));
      const what = `resource "${shown(uri)}"`;
      await keepWatching(
        {
          require: () => requirePermitted(name, asker, what),
          subscribe: async (listener) =>
            useConnection(await requireServer(name, asker, what), asker, (used) => used.watch(name?.own ?? '', listener, asker.signal)),
        },
        asker.signal,
        watcher,
      );
    },
    async readView({ server: id, own, uri }, asker) {
      const registered = await serverOf(id);
      if (registered?.isEnabled !== true || isViewBlocked(own, registered)) throw notFound(`interface "${shown(uri)}"`);
      const record = await requireOwn(registered, asker.caller);
      const server = { record, mask: maskOfCredentials(record) };
      const contents = (await readFrom(record, own, asker)).map((entry) => ({
        ...convertResource(entry, server),
        ...(entry.uri === own && { uri }),
      }));
      return requirePassable(record, { contents });
    },
    async prompt(own, args, asker) {
      const name = withKind('prompts', readName(own));
      const record = await requireServer(name, asker, `prompt "${shown(own)}"`);
      const params = { name: name?.own ?? '', ...(args && { arguments: args }) };
      const answer = await request(record, asker, (client, options) => client.request({ method: 'prompts/get', params }, options));
      const server = { record, mask: maskOfCredentials(record) };
      const messages = answer.messages
        .slice(0, limits.mcpContentBlocks)
        .map(({ role, content }) => ({ role, content: convertContent(content, server) }));
      return requirePassable(
        record,
        withoutUndefined({ description: answer.description && server.mask.text(answer.description), messages }),
      );
    },
    async complete({ ref, argument, context }, asker) {
      const name =
        ref.type === 'ref/prompt'
          ? withKind('prompts', readName(ref.name))
          : withKind(ref.uri.includes('{') ? 'resourceTemplates' : 'resources', readUri(ref.uri));
      const record = await requireServer(
        name,
        asker,
        ref.type === 'ref/prompt' ? `prompt "${shown(ref.name)}"` : `template "${shown(ref.uri)}"`,
      );
      const own = name?.own ?? '';
      const ownRef = ref.type === 'ref/prompt' ? { type: ref.type, name: own } : { type: ref.type, uri: own };
      const params = { ref: ownRef, argument, ...(context && { context }) };
      const answer = await request(record, asker, async (client, options): Promise<CompleteResult> =>
        client.getServerCapabilities()?.completions === undefined
          ? { completion: { values: [] } }
          : client.request({ method: 'completion/complete', params }, options),
      );
      const { values, total, hasMore } = answer.completion;
      return requirePassable(record, { completion: withoutUndefined({ values: values.slice(0, maxCompletions), total, hasMore }) });
    },
  };
}

interface AskedName extends OwnName {
  kind: ContentsKind;
}

function withKind(kind: ContentsKind, name: OwnName | undefined): AskedName | undefined {
  return name && { ...name, kind };
}

/** @throws GatewayError for an answer that is too large or too deep to be passed on */
function requirePassable(record: ToolServerRecord, answer: object): JsonObject {
  if (isDeeperThan(answer, limits.jsonDepth))
    throw new GatewayError(
      'upstream_invalid_response',
      `The MCP server "${record.id}" returned an answer that is nested more than ${limits.jsonDepth} levels deep.`,
    );
  if (charactersOf(answer as JsonObject) > limits.keptResultBytes)
    throw new GatewayError(
      'payload_too_large',
      `The MCP server "${record.id}" returned more than ${limits.keptResultBytes} bytes. Ask for less at a time.`,
    );
  return answer as JsonObject;
}

/** Characters of all texts in it. */
function charactersOf(value: JsonValue): number {
  if (typeof value === 'string') return value.length;
  if (!isContainer(value)) return 0;
  return Object.values(value).reduce<number>((sum, child) => sum + charactersOf(child ?? null), 0);
}

function toGatewayError(record: ToolServerRecord, { kind, isUnknownResource }: McpFailure, reason: string): GatewayError {
  if (isUnknownResource === true) return new GatewayError('not_found', `The MCP server "${record.id}" has no such resource: ${reason}`);
  switch (kind) {
    case 'answered':
      return new GatewayError('upstream_rejected', `The MCP server "${record.id}" rejected the request: ${reason}`);
    case 'invalid':
      return new GatewayError(
        'upstream_invalid_response',
        `The MCP server "${record.id}" returned an answer that is not valid MCP: ${reason}`,
      );
    case 'denied':
      return new GatewayError('egress_denied', reason);
    case 'timeout':
      return new GatewayError('upstream_timeout', `The MCP server "${record.id}" took too long: ${reason}`);
    case 'never-sent':
    case 'maybe-sent':
    case 'refused':
      return unreachable(record, `: ${reason}`);
  }
}

function unreachable({ id }: ToolServerRecord, reason = ' at the moment.'): GatewayError {
  return new GatewayError('upstream_unreachable', `The MCP server "${id}" cannot be reached${reason}`);
}

function notFound(what: string): GatewayError {
  return new GatewayError('not_found', `There is no ${what} that this key may use. List them to see which ones it may use.`);
}

/** Requested names are shown in part. */
function shown(text: string): string {
  return text.slice(0, 200);
}
