import type { CallToolResult, Tool as McpDefinition } from '@modelcontextprotocol/client';
import { readChain } from '../../core/gateway-chain.ts';
import { limits } from '../../core/limits.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { CallState, Tool, ToolContext, ToolErrorCode, ToolInvocation, ToolOutcome } from '../../core/tool.ts';
import { isDeeperThan, isJsonObject } from '../../shared/json.ts';
import type { JsonValue } from '../../shared/json.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import { withoutUndefined } from '../../shared/without-undefined.ts';
import { checkValue, type CheckingFor } from '../../validation/check-value.ts';
import { maskOfCredentials } from '../servers/credentials-of.ts';
import type { McpFunction } from './convert-tools.ts';
import { explainMcpFailure } from './explain-mcp-failure.ts';
import type { McpFailure } from './explain-mcp-failure.ts';
import type { McpConnection } from './mcp-connection.ts';
import { readToolResult } from './read-tool-result.ts';

/** The server of a function, as far as calls need it. */
export interface CalledServer {
  readonly record: ToolServerRecord;
  /** For messages, in which the server must not repeat what it was sent. */
  readonly mask: SecretMask;
  readonly connection: McpConnection;
  /** Whether a definition that was offered is another one by now; asks for the list first where it may be. */
  isChanged(definition: McpDefinition, signal: AbortSignal): Promise<boolean>;
}

/** A request that surely did nothing is sent once more, over a new connection. */
const attempts = 2;

/** A function of an MCP server. What is sent again, and what is known afterwards, follows from how the request failed. */
export function createMcpTool(server: CalledServer, { operation, tool: definition }: McpFunction, offeredName: string): Tool {
  const { id, timeoutMs, maxResultBytes } = server.record;
  const { readOnlyHint, idempotentHint } = definition.annotations ?? {};
  const isReadOnly = readOnlyHint === true;
  const target: Target = { server, definition, offeredName, isRepeatable: isReadOnly || idempotentHint === true };
  return {
    spec: { ...operation.spec, name: offeredName },
    label: `${id}/${operation.spec.name}`,
    server: id,
    kind: 'mcp',
    gateways: readChain(definition._meta) ?? [],
    isReadOnly,
    isIdempotent: target.isRepeatable,
    ...withoutUndefined({ timeoutMs, maxResultBytes }),
    run: (invocation, context) => run(target, invocation, context),
  };
}

interface Target {
  server: CalledServer;
  definition: McpDefinition;
  offeredName: string;
  isRepeatable: boolean;
}

async function run(target: Target, invocation: ToolInvocation, context: ToolContext | undefined): Promise<ToolOutcome> {
  const { server, definition, isRepeatable } = target;
  const { record, connection, mask } = server;
  for (let attempt = 1; ; attempt += 1) {
    let isReady = false;
    try {
      if (await server.isChanged(definition, invocation.signal)) return changedOutcome(record.id, definition.name);
      isReady = true;
      const result = await connection.call(definition.name, invocation, context);
      // A server that makes checks expensive waits for its own alone.
      const faults = await structuredFaults(result, definition, { caller: `mcp:${record.id}`, signal: invocation.signal });
      if (faults.length > 0) return failed('tool_error', misfitMessage(record.id, mask.text(faults.join('; '))));
      const outcome = readToolResult(result, record.id);
      if (outcome.type === 'error') return { ...outcome, message: mask.text(outcome.message) };
      return withoutCredentials(outcome, maskOfCredentials(record));
    } catch (error) {
      if (invocation.signal.aborted) throw invocation.signal.reason;
      const failure = explainMcpFailure(error);
      const mayRepeat = failure.kind === 'never-sent' || !isReady || (failure.kind === 'maybe-sent' && isRepeatable);
      if (!mayRepeat || failure.kind === 'denied' || attempt >= attempts) return failedOutcome(failure, target, isReady);
      await connection.drop();
    }
  }
}

/**
 * How a structured result differs from the output schema of its tool, a sentence each; empty where it fits. What is too deep is not checked, nor
 * what takes too long: schema and result are the same server's. @throws the signal's reason
 */
export async function structuredFaults(
  { structuredContent, isError }: CallToolResult,
  { outputSchema }: McpDefinition,
  checkingFor: CheckingFor,
): Promise<string[]> {
  if (!isJsonObject(outputSchema) || structuredContent === undefined || isError === true) return [];
  if (isDeeperThan(outputSchema, limits.jsonDepth) || isDeeperThan(structuredContent, limits.jsonDepth)) return [];
  const check = await checkValue(structuredContent as JsonValue, outputSchema, checkingFor);
  return check.type === 'faulty' ? check.errors : [];
}

/** A server may give back what it was sent. In a result only credentials are taken out: an id of the run may rightly be there. */
function withoutCredentials(outcome: Extract<ToolOutcome, { type: 'result' }>, mask: SecretMask): ToolOutcome {
  if (mask.isEmpty) return outcome;
  const { value, files, documents } = outcome;
  const textOf = (text: string | undefined): string | undefined => text && mask.text(text);
  return {
    ...outcome,
    value: mask.value(value),
    ...(files && {
      files: files.map(({ url, name, uri, ...file }) => ({
        ...file,
        url: mask.dataUrl(url),
        ...withoutUndefined({ name: textOf(name), uri: textOf(uri) }),
      })),
    }),
    ...(documents && {
      documents: documents.map((document) => ({ ...document, text: mask.text(document.text), uri: mask.text(document.uri) })),
    }),
  };
}

function failedOutcome(failure: McpFailure, { server: { record, mask }, offeredName }: Target, isReady: boolean): ToolOutcome {
  const reason = mask.text(failure.message).replace(/\.$/, '');
  const named = `The MCP server "${record.id}"`;
  if (failure.kind === 'denied') return failed('egress_denied', reason, 'not_started');
  if (!isReady || failure.kind === 'never-sent')
    return failed('mcp_unavailable', `${named} cannot be reached: ${reason}. The call was not executed.`, 'not_started');
  switch (failure.kind) {
    case 'answered':
      return failed('tool_error', `${named} refuses the call: ${reason}.`);
    case 'refused':
      return failed('mcp_unavailable', `${named} refuses the connection: ${reason}. The call was not executed.`, 'not_started');
    case 'timeout':
      return failed('tool_timeout', `Tool '${offeredName}' timed out: ${reason}.`, 'outcome_unknown');
    case 'maybe-sent': {
      const message = `${named} was lost amid the call (${reason}); whether it took effect is not known. Find out before it is repeated.`;
      return failed('outcome_unknown', message, 'outcome_unknown');
    }
  }
}

function failed(code: ToolErrorCode, message: string, state?: CallState): ToolOutcome {
  return { type: 'error', code, message, ...(state && { state }) };
}

function misfitMessage(server: string, faults: string): string {
  return `The MCP server "${server}" gave a result that does not match the output schema of its tool: ${faults}.`;
}

function changedOutcome(server: string, name: string): ToolOutcome {
  const message = `'${name.slice(0, 100)}' of "${server}" is held back, because its definition is not the one that was first seen. An administrator can accept the new one.`;
  return failed('definition_changed', message, 'not_started');
}
