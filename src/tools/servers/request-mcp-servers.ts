import pLimit from 'p-limit';
import type { McpToolFilter, RequestMcpServer } from '../../core/chat/chat.ts';
import { invalidField } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { Tool } from '../../core/tools/tool.ts';
import { leftOutWarning, type Candidate, type SuppliedFunctions } from '../definitions/tool-source.ts';
import { requestPeer, type McpPeer } from '../mcp/mcp-peer.ts';
import type { Operation } from '../definitions/operation.ts';
import type { OpenedServer, Opening } from '../definitions/opened-server.ts';
import { mayReachPrivate } from './request-trust.ts';

/** Servers of one request that are connected to at the same time, each of which may send lists of the largest size. */
const requestMcpAtOnce = 4;

interface RequestMcpServersOptions {
  /** Never rejects. */
  openForRun: (peer: McpPeer) => Promise<Opening>;
  isRegistered: (id: string) => boolean;
}

/**
 * Opens the MCP servers of a request; one result per server, in their order. A server that cannot be used is left out with a warning.
 * @throws GatewayError `invalid_request` for a label that is a registered server's id; the signal's reason
 */
export async function openRequestMcpServers(
  servers: readonly RequestMcpServer[],
  run: RunContext,
  { openForRun, isRegistered }: RequestMcpServersOptions,
): Promise<SuppliedFunctions[]> {
  for (const { label, param } of servers) {
    // The labels of a resumed run were checked, and a server may have been registered since.
    if (run.suspension?.resumed !== undefined || !isRegistered(label)) continue;
    throw invalidField(
      param,
      `"${label}" is the id of a registered tool server. Choose that one with tool_ids, or give this server another label.`,
    );
  }
  const atOnce = pLimit(requestMcpAtOnce);
  const share = { mayReachPrivate: mayReachPrivate(run), schemasBytes: Math.floor(limits.requestCharacters / servers.length) };
  const supplied = await Promise.all(
    servers.map((server) =>
      atOnce(async () => {
        const peer = requestPeer(server, share);
        return supplyFrom(server, { peer, opening: await openForRun(peer) });
      }),
    ),
  );
  run.signal.throwIfAborted();
  return supplied;
}

function supplyFrom(server: RequestMcpServer, { peer, opening }: { peer: McpPeer; opening: Opening }): SuppliedFunctions {
  const { label, allowed = {} } = server;
  if (opening.type !== 'opened') {
    const code = opening.type === 'unreachable' && opening.cause === 'denied' ? 'egress_denied' : 'mcp_unavailable';
    return withoutFunctions(server, code, opening.reason);
  }
  const { functions, conversion } = opening.server;
  const chosen = functions.flatMap((operation) => {
    if (operation.isForApps === true) return [];
    const tool = opening.server.createTool(operation, operation.spec.name);
    return isChosen(allowed, operation, tool) ? [{ operation, needsApproval: needsApproval(server, operation, tool) }] : [];
  });
  if (chosen.length === 0) {
    const [omitted] = conversion.omitted;
    const none = omitted === undefined ? 'it lists no tool' : `${omitted.operation}: ${omitted.reason}`;
    return withoutFunctions(server, 'tool_server_empty', functions.length === 0 ? none : 'allowed_tools excludes all of its tools');
  }
  const endpoint = peer.mask.text(peer.url);
  const list = chosen.map(({ operation: { operationId, spec } }) => ({
    name: operationId,
    description: spec.description,
    input_schema: spec.parameters,
  }));
  return {
    candidates: chosen.map((fn) => toCandidate(fn, { label, endpoint, server: opening.server })),
    warnings: [],
    list: { server: label, tools: list },
  };
}

function withoutFunctions({ label, param }: RequestMcpServer, code: string, reason: string): SuppliedFunctions {
  const warning = leftOutWarning(code, `The MCP server "${label}" (${param})`, reason);
  return { candidates: [], warnings: [warning], list: { server: label, tools: [], error: warning.message } };
}

function toCandidate(
  { operation, needsApproval }: { operation: Operation; needsApproval: boolean },
  { label, endpoint, server }: { label: string; endpoint: string; server: OpenedServer },
): Candidate {
  const { spec, method, path, operationId } = operation;
  return {
    wanted: spec.name,
    key: `${label} ${method} ${path}`,
    whenTaken: `${label}_${spec.name}`,
    spec,
    otherNames: [operationId],
    toTool: (offeredName) => ({
      ...server.createTool(operation, offeredName),
      endpoint: `${method} ${endpoint}`,
      ...(needsApproval && { needsApproval }),
    }),
  };
}

/** Strict: what neither filter chooses needs an approval, and so does what both choose. */
function needsApproval({ approval: { always, never } }: RequestMcpServer, operation: Operation, tool: Tool): boolean {
  if (always !== undefined && isChosen(always, operation, tool)) return true;
  return never === undefined || !isChosen(never, operation, tool);
}

function isChosen(filter: McpToolFilter, { operationId, spec }: Operation, { isReadOnly = false }: Tool): boolean {
  const { names, exceptNames = [], isReadOnly: wanted = isReadOnly } = filter;
  const isNamed = (list: readonly string[]): boolean => list.includes(operationId) || list.includes(spec.name);
  return wanted === isReadOnly && (names === undefined || isNamed(names)) && !isNamed(exceptNames);
}
