import type { CallToolResult, Tool as McpDefinition } from '@modelcontextprotocol/client';
import { readChain } from '../../core/tools/gateway-chain.ts';
import { limits } from '../../core/limits.ts';
import type { CallState, Tool, ToolContext, ToolErrorCode, ToolInvocation, ToolOutcome } from '../../core/tools/tool.ts';
import { asSentence } from '../../shared/text/as-sentence.ts';
import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import { withoutUndefined } from '../../shared/json/without-undefined.ts';
import { checkValue, type CheckingFor } from '../../validation/check-value.ts';
import { renamedSpec } from '../definitions/lazy-spec.ts';
import type { OwnUse } from '../definitions/own-use.ts';
import { truncateText, type McpFunction } from './convert-tools.ts';
import { explainMcpFailure, type McpFailure } from './explain-mcp-failure.ts';
import type { McpConnection } from './mcp-connection.ts';
import type { McpPeer } from './mcp-peer.ts';
import type { OpenConnection } from './open-connection.ts';
import { passedMeta } from './passed-meta.ts';
import { followTask } from './follow-task.ts';
import { readTask, takeTask, type McpTask } from './incoming/hidden-task.ts';
import { readToolResult } from './read-tool-result.ts';

/** The parts of a server that a call needs. */
export interface CalledServer {
  readonly peer: McpPeer;
  readonly connection: McpConnection;
  /** Whether the definition has changed since it was offered. Reads the tool list first if it may be outdated. */
  isChanged(definition: McpDefinition, signal: AbortSignal): Promise<boolean>;
}

/** A request that certainly had no effect is retried once, over a new connection. */
const attempts = 2;

/** Makes a `Tool` of an MCP tool. How a request failed decides whether it is retried, and what the model reads about its effect. */
export function createMcpTool(
  server: CalledServer,
  { operation, tool: definition }: McpFunction,
  { offeredName, onScopesWanted }: { offeredName: string; onScopesWanted?: OwnUse['onScopesWanted'] },
): Tool {
  const { id, timeoutMs, maxResultBytes } = server.peer;
  const { readOnlyHint, idempotentHint } = definition.annotations ?? {};
  const isReadOnly = readOnlyHint === true;
  const isIdempotent = isReadOnly || idempotentHint === true;
  const target: Target = { server, definition, offeredName, isIdempotent, ...withoutUndefined({ onScopesWanted }) };
  return {
    spec: renamedSpec(operation.spec, offeredName),
    label: `${id}/${operation.spec.name}`,
    server: id,
    kind: 'mcp',
    ...(isUsableSchema(definition.outputSchema) && { outputSchema: definition.outputSchema }),
    ...presentationOf(definition, server.peer.mask),
    gateways: readChain(definition._meta) ?? [],
    isReadOnly,
    ...(operation.isForApps && { isForApps: true }),
    isIdempotent: target.isIdempotent,
    ...withoutUndefined({ timeoutMs, maxResultBytes }),
    run: (invocation, context) => run(target, invocation, context),
  };
}

function presentationOf({ title, inputSchema, annotations = {}, _meta }: McpDefinition, mask: SecretMask): Pick<Tool, 'presentation'> {
  const shown = (text: string | undefined): string | undefined => text && truncateText(mask.text(text), limits.mcpNameCharacters);
  const { destructiveHint, openWorldHint } = annotations;
  const hints = withoutUndefined({ title: shown(annotations.title), destructiveHint, openWorldHint });
  const { $schema } = inputSchema;
  const presentation = withoutUndefined({
    title: shown(title),
    dialect: typeof $schema === 'string' ? shown($schema) : undefined,
    annotations: Object.keys(hints).length > 0 ? hints : undefined,
    _meta: passedMeta(_meta, mask),
  });
  return Object.keys(presentation).length > 0 ? { presentation } : {};
}

function isUsableSchema(schema: unknown): schema is JsonObject {
  return isJsonObject(schema) && !isDeeperThan(schema, limits.jsonDepth);
}

interface Target {
  server: CalledServer;
  definition: McpDefinition;
  offeredName: string;
  isIdempotent: boolean;
  /** As in `OwnUse`. */
  onScopesWanted?: (scopes: readonly string[]) => void;
}

async function run(target: Target, invocation: ToolInvocation, context: ToolContext | undefined): Promise<ToolOutcome> {
  const { server, definition, isIdempotent } = target;
  const { peer, connection } = server;
  const stored = invocation.task?.stored && readTask(invocation.task.stored);
  if (stored !== undefined) return takeUp(stored, target, { invocation, context });
  let task: McpTask | undefined;
  for (let attempt = 1; ; attempt += 1) {
    let used: OpenConnection | undefined;
    try {
      if (await server.isChanged(definition, invocation.signal)) return changedOutcome(peer, definition.name);
      used = connection.current();
      const answer = await used.call(definition, invocation, context);
      task = takeTask(answer);
      const result = task === undefined ? answer : await followTask(task, { server, invocation, context });
      return await outcomeOf(result, target, invocation);
    } catch (error) {
      if (invocation.signal.aborted) throw invocation.signal.reason;
      const failure = task === undefined ? explainMcpFailure(error) : ofBegunTask(explainMcpFailure(error));
      const wasNotExecuted = failure.kind === 'never-sent' || failure.isSessionLost === true || used === undefined;
      const mayRetry = (wasNotExecuted && task === undefined) || (failure.kind === 'maybe-sent' && isIdempotent && task === undefined);
      const { wantedScopes = [] } = failure;
      if (wantedScopes.length > 0) target.onScopesWanted?.(wantedScopes);
      if (!mayRetry || failure.kind === 'denied' || wantedScopes.length > 0 || attempt >= attempts)
        return failedOutcome(failure, target, { isReady: used !== undefined, mask: masksFor(peer, invocation).mask });
      if (used !== undefined) connection.replace(used);
    } finally {
      used?.forgetTask(invocation.callId);
    }
  }
}

/** Goes on with the task of a call that was made before a restart. */
async function takeUp(
  task: McpTask,
  target: Target,
  { invocation, context }: { invocation: ToolInvocation; context: ToolContext | undefined },
): Promise<ToolOutcome> {
  const { server } = target;
  try {
    return await outcomeOf(await followTask(task, { server, invocation, context }), target, invocation);
  } catch (error) {
    if (invocation.signal.aborted) throw invocation.signal.reason;
    const { mask } = masksFor(server.peer, invocation);
    return failedOutcome(ofBegunTask(explainMcpFailure(error)), target, { isReady: true, mask });
  }
}

/** To be asked for when there is something to redact: a token may be renewed by the call itself. */
function masksFor(peer: McpPeer, { run: context }: ToolInvocation): Pick<McpPeer, 'mask' | 'credentialMask'> {
  return peer.masksFor?.(context) ?? peer;
}

async function outcomeOf(
  result: CallToolResult,
  { server: { peer }, definition }: Target,
  invocation: ToolInvocation,
): Promise<ToolOutcome> {
  // Validated in a worker on the account of the server, or of who brought it, so that expensive schemas slow down nobody else.
  const account = peer.isReviewed ? `mcp:${peer.id}` : invocation.run.caller.id;
  const faults = await structuredFaults(result, definition, { caller: account, signal: invocation.signal });
  const outcome = readToolResult(result, peer.id, isUsableSchema(definition.outputSchema));
  const { mask, credentialMask } = masksFor(peer, invocation);
  if (outcome.type === 'error') return { ...outcome, message: mask.text(outcome.message) };
  const meta = passedMeta(result._meta, credentialMask, limits.keptResultBytes);
  const note = faults.length === 0 ? undefined : mismatchNote(mask.text(faults.join('; ')));
  return withoutCredentials({ ...outcome, ...(note !== undefined && { note, isMisfit: true }), ...(meta && { meta }) }, credentialMask);
}

/** If a request about a task fails, its server still works on the task. */
function ofBegunTask({ kind, message }: McpFailure): McpFailure {
  return { kind: kind === 'never-sent' || kind === 'refused' || kind === 'denied' ? 'maybe-sent' : kind, message };
}

/**
 * Checks a result against the tool's output schema, which demands structure; returns one sentence per fault. Values that are too deep or take too long are
 * not checked, because schema and result come from the same server. @throws the signal's reason
 */
export async function structuredFaults(
  { structuredContent, isError }: CallToolResult,
  { outputSchema }: McpDefinition,
  checkingFor: CheckingFor,
): Promise<string[]> {
  if (!isJsonObject(outputSchema) || isError === true) return [];
  if (structuredContent === undefined) return ['there is no structured result'];
  if (isDeeperThan(outputSchema, limits.jsonDepth) || isDeeperThan(structuredContent, limits.jsonDepth)) return [];
  const check = await checkValue(structuredContent as JsonValue, outputSchema, checkingFor);
  return check.type === 'faulty' ? check.errors : [];
}

/** A server may echo what it was sent. Only credentials are removed from a result: an id of the run may legitimately be in it. */
function withoutCredentials(outcome: Extract<ToolOutcome, { type: 'result' }>, mask: SecretMask): ToolOutcome {
  if (mask.isEmpty) return outcome;
  const { value, structured, files, documents, passages } = outcome;
  const textOf = (text: string | undefined): string | undefined => text && mask.text(text);
  return {
    ...outcome,
    value: mask.value(value),
    ...(structured !== undefined && { structured: { ...structured, value: mask.value(structured.value) } }),
    ...(files && {
      files: files.map(({ url, name, uri, ...file }) => ({
        ...file,
        url: mask.dataUrl(url),
        ...withoutUndefined({ name: textOf(name), uri: textOf(uri) }),
      })),
    }),
    ...(documents && {
      documents: documents.map((document) => ({
        ...document,
        text: mask.text(document.text),
        uri: mask.text(document.uri),
        ...(document.meta && { meta: mask.value(document.meta) }),
      })),
    }),
    ...(passages && { passages: passages.map(({ text, block }) => ({ text: mask.text(text), block: mask.value(block) })) }),
  };
}

function failedOutcome(
  failure: McpFailure,
  { server: { peer }, offeredName }: Target,
  { isReady, mask }: { isReady: boolean; mask: SecretMask },
): ToolOutcome {
  const reason = asSentence(mask.text(failure.message));
  const named = `The MCP server "${peer.id}"`;
  if (failure.kind === 'denied') return failed('egress_denied', reason, 'not_started');
  if (!isReady || failure.kind === 'never-sent')
    return failed('mcp_unavailable', `${named} cannot be reached: ${reason} The call was not executed.`, 'not_started');
  switch (failure.kind) {
    case 'answered':
      return failed('tool_error', `${named} rejected the call: ${reason}`);
    case 'invalid':
      return failed(
        'tool_error',
        `${named} executed the call, but its result cannot be used: ${reason} Check what it did before repeating it.`,
      );
    case 'refused':
      return failed('mcp_unavailable', `${named} rejected the connection: ${reason} The call was not executed.`, 'not_started');
    case 'timeout':
      return failed('tool_timeout', `Tool '${offeredName}' timed out: ${reason}`, 'outcome_unknown');
    case 'maybe-sent': {
      const message = `${named} was lost during the call: ${reason} It is not known whether the call took effect; check that before repeating it.`;
      return failed('outcome_unknown', message, 'outcome_unknown');
    }
  }
}

function failed(code: ToolErrorCode, message: string, state?: CallState): ToolOutcome {
  return { type: 'error', code, message, ...(state && { state }) };
}

/** The call has run, so this is no failure: a model would repeat it. */
function mismatchNote(faults: string): string {
  return `The call has run. Its result does not match the output schema of the tool: ${faults}.`;
}

function changedOutcome({ id, isReviewed }: McpPeer, name: string): ToolOutcome {
  const shown = `'${name.slice(0, 100)}' of "${id}"`;
  const message = isReviewed
    ? `${shown} is disabled, because its definition has changed since it was first seen. An administrator can accept the new definition.`
    : `${shown} was not called, because its definition has changed since it was offered. The next request of this chat has the new one.`;
  return failed('definition_changed', message, 'not_started');
}
