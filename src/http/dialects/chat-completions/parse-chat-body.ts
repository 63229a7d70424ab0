import type { z } from 'zod';
import {
  callThoughtFields,
  type ChatMessage,
  type ChatRequest,
  type ContentPart,
  type MessageContent,
  type RequestMcpServer,
} from '../../../core/chat/chat.ts';
import { invalidField } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import type { ParsedRequest } from '../dialect.ts';
import { nestedFunctionForm } from '../requests/function-form.ts';
import { namesTools, openParameters, toGatewayPart, withSystemParam } from '../requests/gateway-fields.ts';
import { parseFields, requireBoundedBody } from '../requests/parse-fields.ts';
import { isHiddenTask } from '../requests/is-hidden-task.ts';
import { parseMcpTool, toMcpPart } from '../requests/mcp-servers.ts';
import { bodySchema, type Body, type callSchema } from './chat-body-schema.ts';
import { fromLegacyFunctions } from './legacy-functions.ts';
import type { CompletionOptions } from './openai-wire.ts';

/** A chat request, and the options of the answer's wire format. */
interface ParsedChat extends ParsedRequest {
  options: CompletionOptions;
  answersToSession: boolean;
  isInterrupt: boolean;
  /** The first message is the system prompt of `params`. */
  hasSystemParameter: boolean;
}

/** @throws GatewayError `invalid_request` with `param` set to the first field at fault. */
export function parseChatBody(value: unknown): ParsedChat {
  const { body, isLegacy } = fromLegacyFunctions(requireBoundedBody(value, 'a JSON object with model and messages'));
  if (body['messages'] === undefined && body['input'] !== undefined)
    throw invalidField('messages', 'is missing. Chat completions have the conversation in "messages"; "input" is for POST /v1/responses.');
  const parsed = toParsedChat(parseFields(bodySchema, body), body);
  if (!isLegacy) return parsed;
  return { ...parsed, request: { ...parsed.request, returnsOneCall: true }, options: { ...parsed.options, isLegacy } };
}

function toParsedChat(body: Body, wire: JsonObject): ParsedChat {
  const options = body.stream_options ?? {};
  const { functions, hosted, mcpServers } = sortTools(body.tools ?? []);
  const parameters = modelParameters(wire);
  const messages = body.messages.map(toMessage);
  const request: ChatRequest = {
    ...toGatewayPart(body),
    model: body.model,
    messages: withSystemParam(messages, body.params),
    stream: isStreamed(body),
    callerFunctions: functions,
    hostedTools: hosted,
    ...toMcpPart(mcpServers),
    toolChoice: wire['tool_choice'] ?? undefined,
    parallelToolCalls: body.parallel_tool_calls ?? undefined,
    parameters,
    purpose: isTask(body, messages) ? 'task' : 'chat',
    ...(parameters['store'] === true && { store: { metadata: body.metadata ?? null } }),
  };
  return {
    request,
    options: { includeUsage: options['include_usage'] === true, includeEvents: options['include_events'] === true },
    answersToSession: body.background ?? false,
    isInterrupt: body.interrupt ?? false,
    hasSystemParameter: Boolean(body.params?.system),
  };
}

/** An answer in the background streams to its session, whatever `stream` says. */
function isStreamed({ stream, background }: Body): boolean {
  return stream === true || background === true;
}

function isTask(body: Body, messages: readonly ChatMessage[]): boolean {
  if (body.metadata?.['task'] !== undefined && body.metadata['task'] !== null) return true;
  return !namesTools(body) && isHiddenTask(messages, isStreamed(body));
}

function modelParameters(wire: JsonObject): JsonObject {
  const parameters = openParameters(wire, ['stream_options']);
  if (!isJsonObject(wire['stream_options'])) return parameters;
  const { include_events: _ours, ...streamOptions } = wire['stream_options'];
  if (Object.keys(streamOptions).length > 0) parameters['stream_options'] = streamOptions;
  return parameters;
}

interface SortedTools {
  functions: ChatRequest['callerFunctions'];
  hosted: JsonObject[];
  mcpServers: RequestMcpServer[];
}

function sortTools(tools: readonly JsonObject[]): SortedTools {
  const functions: ChatRequest['callerFunctions'] = [];
  const hosted: JsonObject[] = [];
  const mcpServers: RequestMcpServer[] = [];
  tools.forEach((wire, index) => {
    const definition = wire['function'];
    if (wire['type'] === 'mcp') mcpServers.push(parseMcpTool(wire, `tools.${index}`));
    else if (wire['type'] !== 'function' && wire['type'] !== undefined) hosted.push(wire);
    else if (isJsonObject(definition) && typeof definition['name'] === 'string') functions.push({ name: definition['name'], wire });
    else throw invalidField(`tools.${index}.function`, `must be an object with a name. ${nestedFunctionForm}`);
  });
  return { functions, hosted, mcpServers };
}

function toMessage(message: Body['messages'][number]): ChatMessage {
  const { role: _role, content: _content, ...rest } = message;
  if (message.role === 'assistant') {
    const { tool_calls: calls, refusal, ...others } = rest as Record<string, unknown>;
    // Clients send our answers back as they are, and many backends refuse a field that they do not know.
    const extra = refusal === null ? others : { ...others, ...(refusal !== undefined && { refusal }) };
    const toolCalls = (Array.isArray(calls) ? (calls as z.infer<typeof callSchema>[]) : []).map((call) => ({
      id: call.id,
      name: call.function.name,
      arguments: typeof call.function.arguments === 'string' ? call.function.arguments : JSON.stringify(call.function.arguments ?? {}),
      ...withExtra(Object.fromEntries(callThoughtFields.flatMap((name) => (isJsonObject(call[name]) ? [[name, call[name]]] : [])))),
    }));
    return { role: 'assistant', content: toContent(message.content), toolCalls, ...withExtra(extra) };
  }
  if (message.role === 'tool') {
    const { tool_call_id: toolCallId, name, ...extra } = rest as { tool_call_id: string; name?: unknown };
    const named = typeof name === 'string' ? { name } : {};
    return { role: 'tool', toolCallId, content: toContent(message.content) ?? '', ...named, ...withExtra(extra) };
  }
  return { role: message.role, content: toContent(message.content) ?? '', ...withExtra(rest) };
}

function toContent(content: unknown): MessageContent | null {
  return typeof content === 'string' || Array.isArray(content) ? (content as string | ContentPart[]) : null;
}

function withExtra(extra: Record<string, unknown>): { extra?: JsonObject } {
  return Object.keys(extra).length === 0 ? {} : { extra: extra as JsonObject };
}
