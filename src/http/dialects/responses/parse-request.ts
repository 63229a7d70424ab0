import type { IncomingHttpHeaders } from 'node:http';
import { maxCallerWarnings, type CallerWarning } from '../../../core/chat/caller-warning.ts';
import { textOf, type ChatMessage, type ChatRequest } from '../../../core/chat/chat.ts';
import { invalidField } from '../../../core/errors.ts';
import type { JsonObject, JsonValue } from '../../../shared/json/json.ts';
import type { ParsedRequest } from '../dialect.ts';
import { modelParams, namesTools, toGatewayPart, withSystemParam } from '../requests/gateway-fields.ts';
import { parseFields, requireBoundedBody } from '../requests/parse-fields.ts';
import { isHiddenTask } from '../requests/is-hidden-task.ts';
import { isOpenWebUi } from '../requests/is-open-webui.ts';
import { toMcpPart } from '../requests/mcp-servers.ts';
import { parseTools, toToolChoice, type CallerTools } from './caller-tools.ts';
import { parseInput } from './input-items.ts';
import { bodySchema, type Body } from './request-schema.ts';
import type { ResponseOptions } from './response-wire.ts';

/** @throws GatewayError `invalid_request`, with `param` set to the first field at fault */
export function parseResponseRequest(value: unknown, headers: IncomingHttpHeaders): ParsedRequest {
  const wire = requireBoundedBody(value, 'a JSON object with model and input');
  refuseStored(wire);
  const body = parseFields(bodySchema, wire);
  const input = parseInput(body.input ?? []);
  const tools = mergedTools([parseTools((body.tools ?? []) as JsonObject[], 'tools'), ...input.tools]);
  const toolChoice = toToolChoice((body.tool_choice as JsonValue | undefined) ?? undefined);
  const messages = withOneSystemPrompt([...instructionsOf(body), ...input.messages]);
  if (messages.length === 0 && input.decisions.length === 0) {
    if (Array.isArray(wire['messages']))
      throw invalidField(
        'input',
        'is missing. The Responses API has the messages in "input"; "messages" is for POST /v1/chat/completions.',
      );
    const isMissing = body.input === undefined || body.input === null;
    throw invalidField('input', isMissing ? 'is missing; it must be text or a list of items' : 'must not be empty');
  }
  const warnings = [...tools.warnings, ...input.warnings, ...leftOutFields(wire), ...leftOutBeside(input.besideDecisions)];
  const request: ChatRequest = {
    ...toGatewayPart(body),
    model: body.model,
    messages: withSystemParam(messages, body.params),
    stream: body.stream ?? false,
    callerFunctions: tools.functions,
    hostedTools: [],
    ...toMcpPart(tools.mcpServers),
    ...(tools.mcpServers.length > 0 && { listsMcpTools: true }),
    toolChoice,
    parallelToolCalls: body.parallel_tool_calls ?? undefined,
    parameters: { ...modelParams(wire['params']), ...parametersOf(body) },
    purpose: !namesTools(body) && isHiddenTask(messages, body.stream ?? false) ? 'task' : 'chat',
    ...(input.hasExecutedCalls && { hasExecutedCalls: true }),
    ...(keepsReasoning(body) && { returnsThoughts: true }),
    ...(typeof body.max_tool_calls === 'number' && { maxToolCalls: body.max_tool_calls }),
    ...(warnings.length > 0 && { warnings }),
  };
  return {
    request,
    options: {
      ...optionsOf(body, tools, request.parameters),
      ...(input.listed.size > 0 && { listed: [...input.listed] }),
      // Open WebUI reads only the text.
      ...(!isOpenWebUi(headers) && tools.mcpServers.length > 0 && { asksItself: tools.mcpServers.map(({ label }) => label) }),
    },
    isInterrupt: body.interrupt ?? false,
    ...(input.decisions.length > 0 && { decisions: input.decisions }),
  };
}

/** What only a server can serve that keeps conversations, prompts or answers. */
function refuseStored(wire: JsonObject): void {
  for (const field of ['conversation', 'prompt']) {
    if (isSet(wire[field]))
      throw invalidField(field, 'is not supported, because nothing is stored under it here. Send the conversation itself in input.');
  }
}

/** Fields that would change the answer at OpenAI. Others are ignored silently. */
function leftOutFields(wire: JsonObject): CallerWarning[] {
  return ['context_management', 'moderation'].flatMap((field) =>
    isSet(wire[field]) ? [{ code: 'field_left_out', message: `${field}: is not supported and was ignored.` }] : [],
  );
}

/** The suspended run is resumed with the decisions; nothing else of the request is used. */
function leftOutBeside(path: string | undefined): CallerWarning[] {
  const message = `${path}: is ignored, because the request only resumes the run that waited. Send it again after the answer.`;
  return path === undefined ? [] : [{ code: 'item_left_out', message }];
}

function isSet(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}

function instructionsOf({ instructions }: Body): ChatMessage[] {
  return instructions === undefined || instructions === null || instructions === '' ? [] : [{ role: 'system', content: instructions }];
}

/** Agents begin with several system messages, and templates of many models take one. */
function withOneSystemPrompt(messages: readonly ChatMessage[]): ChatMessage[] {
  const isText = ({ role, content }: ChatMessage): boolean =>
    role === 'system' && (typeof content === 'string' || content.every(({ type }) => type === 'text'));
  const end = messages.findIndex((message) => !isText(message));
  const prompts = messages.slice(0, end < 0 ? messages.length : end);
  if (prompts.length < 2) return [...messages];
  return [{ role: 'system', content: prompts.map(({ content }) => textOf(content)).join('\n\n') }, ...messages.slice(prompts.length)];
}

/** A client may send the same function more than once; the last definition counts. */
function mergedTools(parsed: readonly CallerTools[]): CallerTools {
  const functions = parsed.flatMap((list) => list.functions);
  return {
    functions: [...new Map(functions.map((entry) => [entry.name, entry])).values()],
    mcpServers: parsed.flatMap(({ mcpServers }) => mcpServers),
    originals: new Map(parsed.flatMap(({ originals }) => [...originals])),
    // Lists of tools may be thousands, and each warning is an event.
    warnings: parsed.flatMap(({ warnings }) => warnings).slice(0, maxCallerWarnings),
  };
}

/** The parameters for the model, under the names of chat completions. */
function parametersOf(body: Body): JsonObject {
  const withLogprobs = body.include?.includes('message.output_text.logprobs') === true || (body.top_logprobs ?? 0) > 0;
  const parameters: Record<string, JsonValue | null | undefined> = {
    temperature: body.temperature,
    top_p: body.top_p,
    presence_penalty: body.presence_penalty,
    frequency_penalty: body.frequency_penalty,
    max_completion_tokens: body.max_output_tokens,
    reasoning_effort: body.reasoning?.effort,
    verbosity: body.text?.verbosity,
    response_format: responseFormat(body),
    user: body.user,
    service_tier: body.service_tier,
    safety_identifier: body.safety_identifier,
    prompt_cache_key: body.prompt_cache_key,
    ...(withLogprobs && { logprobs: true, top_logprobs: body.top_logprobs }),
  };
  return Object.fromEntries(
    Object.entries(parameters).flatMap(([key, value]) => (value === undefined || value === null ? [] : [[key, value]])),
  );
}

function responseFormat({ text }: Body): JsonObject | undefined {
  const format = text?.format;
  if (format?.type === 'json_object') return { type: 'json_object' };
  if (format?.type !== 'json_schema') return undefined;
  const { name, schema, strict, description } = format;
  return {
    type: 'json_schema',
    json_schema: { name, schema, ...(typeof strict === 'boolean' && { strict }), ...(typeof description === 'string' && { description }) },
  };
}

/** The next answer builds on a stored one, or the client returns it. */
function keepsReasoning({ store, include }: Body): boolean {
  return store === true || include?.includes('reasoning.encrypted_content') === true;
}

function optionsOf(body: Body, { originals }: CallerTools, parameters: JsonObject): ResponseOptions {
  return {
    response: echoedFields(body, parameters),
    ...(originals.size > 0 && { tools: Object.fromEntries([...originals].map(([name, tool]) => [name, { ...tool }])) }),
    ...(keepsReasoning(body) && { keepsReasoning: true }),
  };
}

/**
 * What a response repeats of its request. The specification of Open Responses requires all of it. `parameters`: those for the model; where none is sent,
 * a default stands that every API has.
 */
function echoedFields(body: Body, parameters: JsonObject): JsonObject {
  const numberOf = (name: string, otherwise: number): number => {
    const value = parameters[name];
    return typeof value === 'number' ? value : otherwise;
  };
  const echoed = {
    background: body.background === true,
    frequency_penalty: numberOf('frequency_penalty', 0),
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    presence_penalty: numberOf('presence_penalty', 0),
    previous_response_id: body.previous_response_id ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: body.reasoning?.effort ?? null, summary: body.reasoning?.summary ?? null },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: body.service_tier ?? 'default',
    store: body.store === true,
    temperature: numberOf('temperature', 1),
    text: { ...body.text, format: echoedFormat(body) },
    tool_choice: body.tool_choice ?? 'auto',
    tools: (body.tools ?? []).map((tool) => echoedTool(tool as JsonObject)),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: numberOf('top_p', 1),
    truncation: body.truncation ?? 'disabled',
    user: body.user ?? null,
  };
  return echoed as JsonObject;
}

function echoedFormat({ text }: Body): JsonObject {
  const format = (text?.format ?? { type: 'text' }) as JsonObject;
  return format['type'] === 'json_schema' ? { description: null, strict: false, ...withoutNull(format) } : format;
}

function withoutNull(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Without what may be secret: the credentials of an MCP server, and the path and query of its address, as in OpenAI's answers. */
function echoedTool(tool: JsonObject): JsonObject {
  if (tool['type'] === 'function') return { description: null, parameters: null, strict: null, ...tool };
  if (tool['type'] !== 'mcp') return tool;
  const { authorization: _authorization, headers: _headers, ...others } = tool;
  const url = typeof others['server_url'] === 'string' ? URL.parse(others['server_url']) : null;
  if (!isSet(others['server_url'])) return others;
  return { ...others, server_url: url === null ? '<redacted>' : `${url.origin}/<redacted>` };
}
