import type { z } from 'zod';
import type { ChatMessage, ChatRequest, ContentPart, MessageContent, RequestToolServer } from '../../../core/chat.ts';
import { describeSchemaIssue } from '../../../shared/describe-schema-issue.ts';
import { toDocumentUrl } from '../../../shared/document-url.ts';
import { GatewayError } from '../../../core/errors.ts';
import { isDeeperThan, isJsonObject } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { limits } from '../../../core/limits.ts';
import { bodySchema, requireFewFields } from './chat-body-schema.ts';
import type { Body, callSchema, serverSchema } from './chat-body-schema.ts';
import { isHiddenTask } from './is-hidden-task.ts';
import { fromLegacyFunctions } from './legacy-functions.ts';

/** Fields of Open WebUI and of the gateway, which are never sent to a backend. */
const extensionFields: ReadonlySet<string> = new Set([
  'tool_servers',
  'tool_ids',
  'params',
  'session_id',
  'chat_id',
  'id',
  'variables',
  'files',
  'features',
  'model_item',
  'background_tasks',
  'metadata',
  'background',
  'interrupt',
  'message_ids',
  'parent_id',
  'user_message',
  'assistant_message_id',
  'folder_id',
  'filter_ids',
  'skill_ids',
  'terminal_id',
  'chat_variables',
  'regeneration_prompt',
]);
/** Keys of `params` for the gateway or a frontend, not for a model. */
const steeringParams: ReadonlySet<string> = new Set([
  'function_calling',
  'max_tool_rounds',
  'tool_timeout_ms',
  'system',
  'stream_response',
  'stream_delta_chunk_size',
  'reasoning_tags',
  'compact_token_threshold',
  'note_id',
  'custom_params',
]);
const parsedFields: ReadonlySet<string> = new Set(['model', 'messages', 'stream', 'tools', 'tool_choice', 'parallel_tool_calls']);

/** A chat request, and the options of the answer's wire format. */
export interface ParsedChat {
  request: ChatRequest;
  includeUsage: boolean;
  includeEvents: boolean;
  isBackground: boolean;
  /** The running chat of this `chat_id` is to be cancelled first. */
  isInterrupt: boolean;
  /** The first message is the system prompt of `params`. */
  hasSystemParameter: boolean;
  /** The answer has to use `function_call`. */
  isLegacy: boolean;
}

/** @throws GatewayError `invalid_request` with `param` set to the first field at fault. */
export function parseChatBody(value: unknown): ParsedChat {
  if (!isJsonObject(value)) throw new GatewayError('invalid_request', 'The body must be a JSON object with model and messages.');
  requireFewFields(value);
  for (const [key, field] of Object.entries(value)) {
    // OpenAPI documents are deeper than chats, and have their own limit.
    if (isDeeperThan(field, key === 'tool_servers' ? limits.documentDepth : limits.jsonDepth)) throw tooDeep(key);
  }
  const { body, isLegacy } = fromLegacyFunctions(value);
  const parsed = bodySchema.safeParse(body);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const param = issue?.path.join('.') ?? '';
    throw new GatewayError('invalid_request', `${param === '' ? 'body' : param}: ${describeSchemaIssue(issue)}`, { param });
  }
  return { ...toParsedChat(parsed.data, body), isLegacy };
}

function toParsedChat(body: Body, wire: JsonObject): Omit<ParsedChat, 'isLegacy'> {
  const options = body.stream_options ?? {};
  const { functions, hosted } = sortTools(body.tools ?? []);
  const parameters = modelParameters(wire);
  const messages = body.messages.map(toMessage);
  const request: ChatRequest = {
    model: body.model,
    messages: withSystem(messages, body.params?.system ?? undefined),
    stream: body.stream ?? false,
    callerFunctions: functions,
    hostedTools: hosted,
    toolChoice: wire['tool_choice'] ?? undefined,
    parallelToolCalls: body.parallel_tool_calls ?? undefined,
    parameters,
    toolServers: (body.tool_servers ?? []).map(toToolServer),
    toolIds: body.tool_ids ?? undefined,
    mode: body.params?.function_calling ?? undefined,
    maxToolRounds: body.params?.max_tool_rounds ?? undefined,
    toolTimeoutMs: body.params?.tool_timeout_ms ?? undefined,
    sessionId: body.session_id ?? undefined,
    chatId: body.chat_id ?? undefined,
    messageId: body.id ?? undefined,
    variables: Object.fromEntries(
      Object.entries(body.variables ?? {}).map(([key, text]) => [key, typeof text === 'string' ? text : JSON.stringify(text ?? '')]),
    ),
    files: (body.files ?? []).flatMap(toFile),
    isTask: isTask(body, messages),
    ...(parameters['store'] === true && { store: { metadata: body.metadata ?? null } }),
  };
  return {
    request,
    includeUsage: options['include_usage'] === true,
    includeEvents: options['include_events'] === true,
    isBackground: body.background ?? false,
    isInterrupt: body.interrupt ?? false,
    hasSystemParameter: Boolean(body.params?.system),
  };
}

/** A request that names tools is never a task, whatever its messages look like. */
function isTask(body: Body, messages: readonly ChatMessage[]): boolean {
  if (body.metadata?.['task'] !== undefined && body.metadata['task'] !== null) return true;
  const namesTools = [body.tools, body.tool_ids, body.tool_servers].some((field) => field !== undefined && field !== null);
  return !namesTools && isHiddenTask(messages, body.stream ?? false);
}

/** Parameters for the backend, including unknown ones. Those at the top level override those in `params`. */
function modelParameters(wire: JsonObject): JsonObject {
  const params = isJsonObject(wire['params']) ? wire['params'] : {};
  const custom = isJsonObject(params['custom_params']) ? params['custom_params'] : {};
  const isSet = ([, value]: [string, unknown]): boolean => value !== null && value !== undefined;
  const fromParams = Object.entries({ ...params, ...custom }).filter(([key]) => !steeringParams.has(key) && !parsedFields.has(key));
  const topLevel = Object.entries(wire).filter(([key]) => !extensionFields.has(key) && !parsedFields.has(key) && key !== 'stream_options');
  const { include_events: _ours, ...streamOptions } = isJsonObject(wire['stream_options']) ? wire['stream_options'] : {};
  const options: [string, JsonValue][] = Object.keys(streamOptions).length > 0 ? [['stream_options', streamOptions]] : [];
  return Object.fromEntries([...fromParams.filter(isSet), ...topLevel.filter(isSet), ...options]);
}

function sortTools(tools: readonly JsonObject[]): { functions: ChatRequest['callerFunctions']; hosted: JsonObject[] } {
  const functions: ChatRequest['callerFunctions'] = [];
  const hosted: JsonObject[] = [];
  tools.forEach((wire, index) => {
    const definition = wire['function'];
    if (wire['type'] !== 'function' && wire['type'] !== undefined) hosted.push(wire);
    else if (isJsonObject(definition) && typeof definition['name'] === 'string') functions.push({ name: definition['name'], wire });
    else
      throw new GatewayError('invalid_request', `tools.${index}.function: must be an object with a name`, {
        param: `tools.${index}.function`,
      });
  });
  return { functions, hosted };
}

function toMessage(message: Body['messages'][number]): ChatMessage {
  const { role: _role, content: _content, ...rest } = message;
  if (message.role === 'assistant') {
    const { tool_calls: calls, ...extra } = rest as Record<string, unknown>;
    const toolCalls = (Array.isArray(calls) ? (calls as z.infer<typeof callSchema>[]) : []).map((call) => ({
      id: call.id,
      name: call.function.name,
      arguments: typeof call.function.arguments === 'string' ? call.function.arguments : JSON.stringify(call.function.arguments ?? {}),
      ...(isJsonObject(call['extra_content']) && { extra: { extra_content: call['extra_content'] } }),
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

function withSystem(messages: ChatMessage[], system: string | undefined): ChatMessage[] {
  return system === undefined || system === '' ? messages : [{ role: 'system', content: system }, ...messages];
}

function toToolServer(server: z.infer<typeof serverSchema>): RequestToolServer {
  const location = toDocumentUrl(server.url, server.path);
  // Without a path there may be no document at all.
  const hasPath = Boolean(server.path) || location.url !== server.url;
  return {
    url: location.url,
    authType: server.auth_type ?? (server.key ? 'bearer' : 'none'),
    headers: server.headers ?? {},
    ...(hasPath ? { path: location.path } : {}),
    ...(server.openapi ? { openapi: server.openapi } : {}),
    ...(server.info ? { info: server.info } : {}),
    ...(server.specs ? { specs: server.specs } : {}),
    ...(server.key ? { key: server.key } : {}),
    ...(server.auth_name ? { authName: server.auth_name } : {}),
    ...(server.execution ? { execution: server.execution } : {}),
    ...(isJsonObject(server.config) ? { config: server.config } : {}),
  };
}

function toFile(file: JsonObject): ChatRequest['files'] {
  const { type, name, content } = file;
  return type === 'text' && typeof content === 'string' ? [{ name: typeof name === 'string' ? name : 'document', content }] : [];
}

function tooDeep(param: string): GatewayError {
  return new GatewayError('invalid_request', `${param}: nested deeper than ${limits.jsonDepth} levels`, { param });
}
