import { setImmediate as nextTick } from 'node:timers/promises';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import { asSentence } from '../../../shared/text/as-sentence.ts';
import type { SecretMask } from '../../../shared/secrets/secret-mask.ts';
import type { Operation } from '../../definitions/operation.ts';
import type { OwnUse } from '../../definitions/own-use.ts';
import type { OpenedServer, Opening, OpeningAttempt, UnreachableCause } from '../../definitions/opened-server.ts';
import { convertTools, type McpFunction } from '../convert-tools.ts';
import { changedParts, fingerprintOf, fingerprintOfOffer, hashesOf, type ListedDefinition } from '../pins/definition-hashes.ts';
import type { ChangedDefinitions } from '../pins/definition-pins.ts';
import { wordsOf } from '../pins/definition-texts.ts';
import { explainMcpFailure, type McpFailure } from '../explain-mcp-failure.ts';
import { createMcpConnection, type McpConnectionOptions } from '../mcp-connection.ts';
import { createMcpTool, type CalledServer } from '../mcp-tool.ts';
import type { McpPeer } from '../mcp-peer.ts';
import type { McpListing } from '../open-connection.ts';

/** A server for as long as its record is unchanged, or its run lasts: its connection and its latest tool list. */
export interface McpSession extends CalledServer {
  /** Connects if needed, and requests the tool list. Never rejects. */
  open(options: OpeningAttempt): Promise<Opening>;
  /** By tool name, the definitions in the latest list. */
  definitions(): ReadonlyMap<string, ListedDefinition>;
  /** Closes the connection once no call is running. */
  retire(): void;
  /** Tells the server that its session is over, then closes the connection. Never rejects. */
  end(): Promise<void>;
  close(): Promise<void>;
}

export interface McpSessionOptions extends McpConnectionOptions {
  gatewayId?: string | undefined;
  /** Compares the tool list with definitions that were seen before. */
  checkDefinitions: (listed: ReadonlyMap<string, ListedDefinition>) => Promise<ChangedDefinitions>;
  /** Why a tool may not be offered; undefined if it may. */
  whyWithheld: (fn: McpFunction) => string | undefined;
  /** The session of one person, where each has one. */
  ownSessionOf?: (use: OwnUse) => Promise<McpSession>;
}

/** Lines of stderr in the reason of a failure, which becomes one line of the log. */
const linesInReason = 5;

export function createMcpSession(peer: McpPeer, options: McpSessionOptions): McpSession {
  const { gatewayId = '', checkDefinitions, whyWithheld, ownSessionOf = async () => session } = options;
  const connection = createMcpConnection(peer, options);
  let definitions: ReadonlyMap<string, ListedDefinition> = new Map();

  /** Reads the tool list and compares it with the pinned definitions. */
  async function read(signal: AbortSignal): Promise<{ listing: McpListing; changed: ChangedDefinitions }> {
    const listing = await connection.list(signal);
    // The SDK has just checked as many as a thousand tools, which takes as long as hashing them.
    await nextTick();
    definitions = new Map(listing.tools.map((tool) => [tool.name, { tool, hashes: hashesOf(tool) }]));
    return { listing, changed: await checkDefinitions(definitions) };
  }

  const session: McpSession = {
    peer,
    connection,
    async open({ signal, isChecked }) {
      try {
        const { listing, changed } = await read(signal);
        return { type: 'opened', server: toOpenedServer(session, listing, { changed, gatewayId, isChecked, whyWithheld, ownSessionOf }) };
      } catch (error) {
        const { kind, message, status, isOther, wantedScopes } = explainMcpFailure(error);
        const cure = isOther === true && peer.process === undefined ? otherCure(peer.url) : undefined;
        const reason = peer.mask.text(cure === undefined ? message : `${asSentence(message)} ${cure}`);
        const stderr = connection.errorLines().slice(-linesInReason);
        const whole = stderr.length === 0 ? reason : `${asSentence(reason)} On stderr it wrote: ${stderr.join(' | ')}`;
        return {
          type: 'unreachable',
          reason: `Connecting to the MCP server failed: ${whole}`,
          cause: causeOf(kind, status),
          ...withoutUndefined({ wantedScopes }),
        };
      }
    },
    async isChanged(definition, signal) {
      if (connection.isListStale()) await read(signal);
      const now = definitions.get(definition.name);
      return now !== undefined && changedParts(hashesOf(definition), now.hashes).length > 0;
    },
    definitions: () => definitions,
    retire: () => connection.retire(),
    end: () => connection.end(),
    close: () => connection.close(),
  };
  return session;
}

function causeOf(kind: McpFailure['kind'], status: number | undefined): UnreachableCause {
  if (kind === 'denied') return 'denied';
  if (kind !== 'refused') return 'failed';
  if (status === 401) return 'unauthorized';
  return status === 403 ? 'forbidden' : 'refused';
}

/** Describes a connected server in the form that OpenAPI servers have too. */
function toOpenedServer(
  session: McpSession,
  { tools, malformed, info, protocolVersion }: McpListing,
  {
    changed,
    gatewayId,
    isChecked,
    whyWithheld,
    ownSessionOf,
  }: { changed: ChangedDefinitions; gatewayId: string; isChecked: boolean } & Required<
    Pick<McpSessionOptions, 'whyWithheld' | 'ownSessionOf'>
  >,
): OpenedServer {
  const { peer, connection } = session;
  const { mask } = peer;
  const converted = convertTools(tools, { malformed, gatewayId, schemasBytes: peer.schemasBytes });
  const functions = converted.functions.map((fn) => withoutSecrets(fn, mask));
  const byOperation = new Map<Operation, McpFunction>(functions.map((fn) => [fn.operation, fn]));
  const functionOf = (operation: Operation): McpFunction => {
    const fn = byOperation.get(operation);
    if (fn === undefined) throw new Error(`${operation.path} belongs to another tool list`);
    return fn;
  };
  const judged = functions.map((fn) => ({ fn, reason: whyWithheld(fn), changes: changed.get(fn.tool.name) }));
  const offered = judged.flatMap(({ fn, reason, changes }) => (reason === undefined && changes === undefined ? [fn] : []));
  const definitions = session.definitions();
  const about = info && mask.value(info);
  return {
    functions: offered.map(({ operation }) => operation),
    fingerprint: fingerprintOfOffer(
      offered.map(({ tool }) => ({ name: tool.name, hashes: definitions.get(tool.name)?.hashes, meta: tool._meta })),
    ),
    withheld: judged.flatMap(({ fn: { operation }, reason }) =>
      reason === undefined ? [] : [{ operation: `${operation.method} ${operation.path}`, reason }],
    ),
    held: judged.flatMap(({ fn: { operation, tool }, reason, changes }) =>
      reason !== undefined || changes === undefined
        ? []
        : [
            {
              operation,
              changed: changes.parts,
              fingerprint: fingerprintOf(definitions.get(tool.name)?.hashes ?? {}),
              definition: wordsOf(tool),
              pinned: changes.pinned,
            },
          ],
    ),
    conversion: { ...converted.conversion, operations: functions.map(({ operation }) => operation) },
    about: {
      info: about && { ...about, title: about['title'] ?? about['name'] },
      version: protocolVersion && `MCP ${protocolVersion}`,
      notes: [],
    },
    loaded: undefined,
    stderr: () => connection.errorLines(),
    isChecked,
    createTool: (operation, offeredName) => createMcpTool(session, functionOf(operation), { offeredName }),
    createOwnTool: async (operation, offeredName, use) =>
      createMcpTool(await ownSessionOf(use), functionOf(operation), {
        offeredName,
        ...withoutUndefined({ onScopesWanted: use.onScopesWanted }),
      }),
  };
}

/** Redacts what the server was sent from the texts that a model gets. Names stay, because calls need them. */
function withoutSecrets({ operation, tool }: McpFunction, mask: SecretMask): McpFunction {
  const { description, parameters } = operation.spec;
  return { tool, operation: { ...operation, spec: { ...operation.spec, ...mask.value({ description, parameters }) } } };
}

/** Without the path, which may be secret: it would appear in the warnings of every chat. */
function otherCure(url: string): string {
  const endpoint =
    'Register the address of its MCP endpoint, such as https://mcp.example/mcp; older servers that speak only SSE have it at /sse';
  return `The first request was a POST to the path of its address at ${new URL(url).origin}. ${endpoint}. Set the type to openapi for a server with an OpenAPI document`;
}
