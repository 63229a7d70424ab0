import type { ToolServerRecord } from '../../core/registry.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import type { Operation } from '../openapi/operation.ts';
import { maskOfEverythingSent } from '../servers/credentials-of.ts';
import type { OpenedServer, Opening, OpeningOptions } from '../servers/open-registered-server.ts';
import { configValue, whyWithheld } from '../servers/server-rules.ts';
import { convertTools } from './convert-tools.ts';
import type { McpFunction } from './convert-tools.ts';
import { changedParts, fingerprintOf, printOf } from './definition-pins.ts';
import type { ChangedDefinitions, DefinitionPins, DefinitionPrint } from './definition-pins.ts';
import { explainMcpFailure } from './explain-mcp-failure.ts';
import { createMcpConnection } from './mcp-connection.ts';
import type { McpConnectionOptions, McpListing } from './mcp-connection.ts';
import { createMcpTool } from './mcp-tool.ts';
import type { CalledServer } from './mcp-tool.ts';

/** A registered server as long as its record stays as it is: its connection, and what it said last. */
export interface McpSession extends CalledServer {
  /** Connects where that is needed, and asks for the tools. Never rejects. */
  open(options: OpeningOptions): Promise<Opening>;
  /** Of the list that was read last. */
  prints(): ReadonlyMap<string, DefinitionPrint>;
  /** Closes as soon as no call is under way. */
  retire(): void;
  close(): Promise<void>;
}

export interface McpSessionOptions extends Omit<McpConnectionOptions, 'mask'> {
  pins: DefinitionPins;
  gatewayId?: string | undefined;
}

/** Of stderr; the reason of a failure is one line of the log. */
const linesInReason = 5;

export function createMcpSession(record: ToolServerRecord, options: McpSessionOptions): McpSession {
  const { pins, gatewayId = '' } = options;
  const mask = maskOfEverythingSent(record);
  const connection = createMcpConnection(record, { ...options, mask });
  let prints: ReadonlyMap<string, DefinitionPrint> = new Map();

  /** The list, and what of it has changed since it was pinned. */
  async function read(signal: AbortSignal): Promise<{ listing: McpListing; changed: ChangedDefinitions }> {
    const listing = await connection.list(signal);
    prints = new Map(listing.tools.map((tool) => [tool.name, printOf(tool)]));
    return { listing, changed: await pins.check(record, prints) };
  }

  const session: McpSession = {
    record,
    mask,
    connection,
    async open({ signal, isChecked }) {
      try {
        const { listing, changed } = await read(signal);
        return { type: 'opened', server: toOpenedServer(session, listing, { changed, gatewayId, isChecked }) };
      } catch (error) {
        const reason = mask.text(explainMcpFailure(error).message).replace(/\.$/, '');
        // The next attempt begins with a new connection, whatever state this one is in.
        await connection.drop();
        const stderr = connection.errorLines().slice(-linesInReason);
        const written = stderr.length === 0 ? '' : `. On stderr it wrote: ${stderr.join(' | ')}`;
        return { type: 'unreachable', reason: `The MCP server does not answer as one: ${reason}${written}` };
      }
    },
    async isChanged(definition, signal) {
      if (connection.isListStale()) await read(signal);
      const now = prints.get(definition.name);
      return now !== undefined && changedParts(printOf(definition), now).length > 0;
    },
    prints: () => prints,
    retire: () => connection.retire(),
    close: () => connection.close(),
  };
  return session;
}

/** What a connected server offers, in the words of every registered server. */
function toOpenedServer(
  session: McpSession,
  { tools, malformed, info, protocolVersion }: McpListing,
  { changed, gatewayId, isChecked }: { changed: ChangedDefinitions; gatewayId: string; isChecked: boolean },
): OpenedServer {
  const { record, mask, connection } = session;
  const converted = convertTools(tools, malformed, gatewayId);
  const functions = converted.functions.map((fn) => withoutSecrets(fn, mask));
  const byOperation = new Map<Operation, McpFunction>(functions.map((fn) => [fn.operation, fn]));
  const judged = functions.map((fn) => ({ fn, reason: whyNotOffered(fn, record), changes: changed.get(fn.tool.name) }));
  const prints = session.prints();
  const about = info && mask.value(info);
  return {
    functions: judged.flatMap(({ fn, reason, changes }) => (reason === undefined && changes === undefined ? [fn.operation] : [])),
    withheld: judged.flatMap(({ fn: { operation }, reason }) =>
      reason === undefined ? [] : [{ operation: `${operation.method} ${operation.path}`, reason }],
    ),
    held: judged.flatMap(({ fn: { operation, tool }, reason, changes }) =>
      reason !== undefined || changes === undefined
        ? []
        : [{ operation, changed: changes, fingerprint: fingerprintOf(prints.get(tool.name) ?? {}) }],
    ),
    conversion: { ...converted.conversion, operations: functions.map(({ operation }) => operation) },
    about: {
      info: about && { ...about, title: about['title'] ?? about['name'] },
      version: protocolVersion && `MCP ${protocolVersion}`,
      remarks: [],
    },
    loaded: undefined,
    stderr: () => connection.errorLines(),
    isChecked,
    createTool(operation, offeredName) {
      const fn = byOperation.get(operation);
      if (fn === undefined) throw new Error(`${operation.path} is of another list`);
      return createMcpTool(session, fn, offeredName);
    },
  };
}

/** What a model reads of a function, without what the server was sent; names stay, because calls need them. */
function withoutSecrets({ operation, tool }: McpFunction, mask: SecretMask): McpFunction {
  const { description, parameters } = operation.spec;
  return { tool, operation: { ...operation, spec: { ...operation.spec, ...mask.value({ description, parameters }) } } };
}

/** Whether a function only reads is the server's own word, for which the administrator who wants it has to trust the server. */
function whyNotOffered({ operation, tool }: McpFunction, record: ToolServerRecord): string | undefined {
  const isReadOnly = tool.annotations?.readOnlyHint === true;
  if (configValue(record, 'read_only') === true && !isReadOnly)
    return 'read_only lets through what the server calls read-only, and this is not';
  return whyWithheld(isReadOnly ? { ...operation, method: 'GET' } : operation, record);
}
