import type { Tool as McpDefinition } from '@modelcontextprotocol/client';
import { readChain } from '../../core/gateway-chain.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { CallState, Tool, ToolContext, ToolErrorCode, ToolInvocation, ToolOutcome } from '../../core/tool.ts';
import { structuredFaults } from './check-structured-result.ts';
import type { McpFunction } from './convert-tools.ts';
import { explainMcpFailure } from './explain-mcp-failure.ts';
import type { McpFailure } from './explain-mcp-failure.ts';
import { redactOutcome, redactSecrets } from './redact-secrets.ts';
import { readToolResult } from './read-tool-result.ts';
import type { McpSession } from './mcp-session.ts';

/** A request that surely did nothing is sent once more, over a new connection. */
const attempts = 2;

export interface McpToolOptions {
  record: ToolServerRecord;
  session: McpSession;
  fn: McpFunction;
  offeredName: string;
}

/** A function of an MCP server. What is sent and what is known afterwards follows from how the request failed. */
export function createMcpTool({ record, session, fn, offeredName }: McpToolOptions): Tool {
  const { operation, tool: definition } = fn;
  const { readOnlyHint, idempotentHint } = definition.annotations ?? {};
  return {
    spec: { ...operation.spec, name: offeredName },
    label: `${record.id}/${operation.spec.name}`,
    server: record.id,
    kind: 'mcp',
    gateways: readChain(definition._meta) ?? [],
    isReadOnly: readOnlyHint === true,
    isIdempotent: readOnlyHint === true || idempotentHint === true,
    ...(record.timeoutMs !== undefined && { timeoutMs: record.timeoutMs }),
    ...(record.maxResultBytes !== undefined && { maxResultBytes: record.maxResultBytes }),
    run: (invocation, context) => run({ record, session, definition, offeredName }, invocation, context),
  };
}

interface Target {
  record: ToolServerRecord;
  session: McpSession;
  definition: McpDefinition;
  offeredName: string;
}

async function run(target: Target, invocation: ToolInvocation, context: ToolContext | undefined): Promise<ToolOutcome> {
  const { record, session, definition } = target;
  const isRepeatable = definition.annotations?.readOnlyHint === true || definition.annotations?.idempotentHint === true;
  for (let attempt = 1; ; attempt += 1) {
    let isReady = false;
    try {
      const standing = await session.standingOf(definition, invocation.signal);
      if (standing === 'changed') return changedOutcome(record.id, definition.name);
      isReady = true;
      const result = await session.connection.call(definition.name, invocation, context);
      // A server that makes checks expensive waits for its own alone.
      const faults = await structuredFaults(result, definition, { caller: `mcp:${record.id}`, signal: invocation.signal });
      if (faults.length > 0) return misfitOutcome(faults, record);
      return redactOutcome(readToolResult(result, record.id), record);
    } catch (error) {
      if (invocation.signal.aborted) throw invocation.signal.reason;
      const failure = explainMcpFailure(error);
      const mayRepeat = failure.kind === 'never-sent' || !isReady || (failure.kind === 'maybe-sent' && isRepeatable);
      if (!mayRepeat || failure.kind === 'denied' || attempt >= attempts) return failedOutcome(failure, target, isReady);
      await session.connection.drop();
    }
  }
}

function failedOutcome(failure: McpFailure, { record, offeredName }: Target, isReady: boolean): ToolOutcome {
  const said = redactSecrets(failure.message, record).replace(/\.$/, '');
  const server = `The MCP server "${record.id}"`;
  const fail = (code: ToolErrorCode, message: string, state?: CallState): ToolOutcome => ({
    type: 'error',
    code,
    message,
    ...(state && { state }),
  });
  if (failure.kind === 'denied') return fail('egress_denied', said, 'not_started');
  if (!isReady || failure.kind === 'never-sent')
    return fail('mcp_unavailable', `${server} cannot be reached: ${said}. The call was not executed.`, 'not_started');
  switch (failure.kind) {
    case 'answered':
      return fail('tool_error', `${server} refuses the call: ${said}.`);
    case 'refused':
      return fail('mcp_unavailable', `${server} lets nobody in: ${said}. The call was not executed.`, 'not_started');
    case 'timeout':
      return fail('tool_timeout', `Tool '${offeredName}' timed out: ${said}.`, 'outcome_unknown');
    case 'maybe-sent':
      return fail(
        'outcome_unknown',
        `${server} was lost amid the call (${said}); whether it took effect is not known. Find out before it is repeated.`,
        'outcome_unknown',
      );
  }
}

function misfitOutcome(faults: readonly string[], record: ToolServerRecord): ToolOutcome {
  const said = redactSecrets(faults.join('; '), record);
  return {
    type: 'error',
    code: 'tool_error',
    message: `The MCP server "${record.id}" gave a result that does not match the output schema of its tool: ${said}.`,
  };
}

function changedOutcome(server: string, name: string): ToolOutcome {
  return {
    type: 'error',
    code: 'definition_changed',
    message: `'${name.slice(0, 100)}' of "${server}" is held back, because its definition is not the one that was first seen. An administrator can agree to the new one.`,
    state: 'not_started',
  };
}
