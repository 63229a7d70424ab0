import { z } from 'zod';
import type { ChatMessage, ChatRequest, RequestToolServer } from '../../../core/chat/chat.ts';
import { invalidField } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import { toDocumentUrl } from '../../../shared/text/document-url.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { approvalsByName, blocksByName } from '../../../shared/text/name-pattern.ts';
import { longestTimerMs } from '../../../shared/async/timer-limits.ts';
import { nearestWord } from '../../../shared/text/nearest-word.ts';
import { hasMoreKeys } from './parse-fields.ts';

/** Replacements in system prompts; frontends send about ten. */
export const variablesLimit = 1_000;

export const jsonObject = z.custom<JsonObject>((value) => isJsonObject(value), 'must be an object');
const names = z.array(z.string().max(256)).max(1_000);
/** Validated, because a typo in a protective setting must not disable it. */
const serverConfig = z.looseObject({
  needs_approval: z
    .union([z.boolean(), names], 'must be true, false, or a list of function names')
    .refine(approvalsByName.test, approvalsByName.problem)
    .nullish(),
  read_only: z.boolean().nullish(),
  methods: names.nullish(),
  tags: names.refine(blocksByName.test, blocksByName.problem).nullish(),
  function_name_filter_list: z
    .union([z.string(), names], 'must be a list of function names')
    .refine(blocksByName.test, blocksByName.problem)
    .nullish(),
  public_headers: names.nullish(),
});
const serverExample = 'such as {"url": "https://tools.example"}';
const serverSchema = z.looseObject(
  {
    url: z.string().max(2_048),
    path: z.string().max(2_048).nullish(),
    /** An object, or JSON or YAML text. */
    openapi: z.union([jsonObject, z.string()], 'must be a document or its text').nullish(),
    info: jsonObject.nullish(),
    specs: z.array(jsonObject).max(limits.requestFunctions).nullish(),
    auth_type: z
      .enum(['none', 'bearer', 'basic', 'header', 'query', 'session'], 'must be one of none, bearer, basic, header, query, session')
      .nullish(),
    auth_name: z.string().max(256).nullish(),
    key: z.string().nullish(),
    headers: z.record(z.string(), z.string()).nullish(),
    execution: z.enum(['browser', 'gateway']).nullish(),
    config: serverConfig.nullish(),
  },
  `must be an object ${serverExample}`,
);
const positive = z.number().int().positive();

/** The gateway's own fields, whose shape is part of the schema of each dialect's body. They mean the same in every dialect. */
export const gatewayFields = z.looseObject({
  tool_servers: z.array(serverSchema, `must be a list of objects ${serverExample}`).max(limits.toolServersPerRequest).nullish(),
  tool_ids: z.array(z.string().max(limits.toolIdCharacters)).max(limits.toolIds).nullish(),
  params: z
    .looseObject({
      function_calling: z.string().nullish(),
      max_tool_rounds: positive.max(limits.maxToolRounds).nullish(),
      tool_timeout_ms: positive.max(longestTimerMs).nullish(),
      system: z.string().nullish(),
      resume_failed: z.boolean().nullish(),
    })
    .nullish(),
  session_id: z.string().max(256).nullish(),
  chat_id: z.string().max(256).nullish(),
  id: z.string().max(256).nullish(),
  variables: jsonObject.refine((value) => !hasMoreKeys(value, variablesLimit), `must have at most ${variablesLimit} fields`).nullish(),
  files: z.array(jsonObject).max(1_000).nullish(),
  interrupt: z.boolean().nullish(),
});
type GatewayFields = z.infer<typeof gatewayFields>;

/** What the gateway's own fields become. */
type GatewayPart = Pick<
  ChatRequest,
  | 'toolServers'
  | 'toolIds'
  | 'mode'
  | 'maxToolRounds'
  | 'toolTimeoutMs'
  | 'sessionId'
  | 'chatId'
  | 'messageId'
  | 'variables'
  | 'files'
  | 'resumesFailed'
>;

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
/** Fields of a request to a backend that the gateway sets itself. */
const parsedFields: ReadonlySet<string> = new Set(['model', 'messages', 'stream', 'tools', 'tool_choice', 'parallel_tool_calls']);
/** Keys of `params` for the gateway or a frontend, not for a model. */
const steeringParams: ReadonlySet<string> = new Set([
  'function_calling',
  'max_tool_rounds',
  'tool_timeout_ms',
  'system',
  'resume_failed',
  'stream_response',
  'stream_delta_chunk_size',
  'reasoning_tags',
  'compact_token_threshold',
  'note_id',
  'custom_params',
]);

/** Fields whose misspelling a request would not show: a backend gets what is unknown here, and mostly ignores it. */
const guardedFields = ['tool_servers', 'tool_ids'];
const guardedParams = ['function_calling', 'max_tool_rounds', 'tool_timeout_ms', 'resume_failed'];
const guardedNames = [...guardedFields, ...guardedParams];

/** @throws GatewayError `invalid_request` for a field of `params` at the top level, and for a misspelt one */
function refuseMistakenNames(fields: object, prefix = ''): void {
  for (const name in fields) {
    if (prefix === '' && guardedParams.includes(name)) throw invalidField(name, `belongs into params. Send "params": {"${name}": …}.`);
    if (guardedNames.includes(name)) continue;
    const meant = guardedNames.find((known) => isMisspelt(name, known));
    if (meant === undefined) continue;
    throw invalidField(`${prefix}${name}`, `is not a field. Did you mean ${guardedParams.includes(meant) ? `params.${meant}` : meant}?`);
  }
}

/** Parameters that every backend takes as numbers. */
const numericParameters = [
  'temperature',
  'top_p',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'presence_penalty',
  'frequency_penalty',
];

/** Some frontends send numbers as text, and some backends take them. @throws GatewayError `invalid_request` for text that is none */
function refuseWords(fields: object, prefix = ''): void {
  for (const name of numericParameters) {
    const value: unknown = (fields as JsonObject)[name];
    if (typeof value !== 'string' || (value.trim() !== '' && Number.isFinite(Number(value)))) continue;
    throw invalidField(`${prefix}${name}`, 'must be a number');
  }
}

function isMisspelt(name: string, known: string): boolean {
  const most = known.length > 10 ? 2 : 1;
  return Math.abs(name.length - known.length) <= most && nearestWord(name, [known]).changes <= most;
}

/** @throws GatewayError `invalid_request` */
export function toGatewayPart(body: GatewayFields): GatewayPart {
  refuseMistakenNames(body);
  refuseMistakenNames(body.params ?? {}, 'params.');
  refuseWords(body);
  refuseWords(body.params ?? {}, 'params.');
  return {
    toolServers: (body.tool_servers ?? []).map(toToolServer),
    toolIds: body.tool_ids ?? undefined,
    mode: body.params?.function_calling ?? undefined,
    maxToolRounds: body.params?.max_tool_rounds ?? undefined,
    toolTimeoutMs: body.params?.tool_timeout_ms ?? undefined,
    sessionId: body.session_id ?? undefined,
    chatId: body.chat_id ?? undefined,
    messageId: body.id ?? undefined,
    variables: body.variables ? toVariables(body.variables) : {},
    files: (body.files ?? []).flatMap(toFile),
    ...(body.params?.resume_failed === false && { resumesFailed: false }),
  };
}

function toVariables(variables: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([key, text]) => [key, typeof text === 'string' ? text : JSON.stringify(text ?? '')]),
  );
}

/** Whether a request names tools: it is never a hidden task then, whatever its messages look like. */
export function namesTools({
  tools,
  tool_ids: ids,
  tool_servers: servers,
}: Pick<GatewayFields, 'tool_ids' | 'tool_servers'> & { tools?: unknown }): boolean {
  return [tools, ids, servers].some((field) => field !== undefined && field !== null);
}

/** Parameters for a backend that may get unknown fields, too: those in `params`, and those at the top level, which win, but for `others`. */
export function openParameters(wire: JsonObject, others: readonly string[]): JsonObject {
  const open = modelParams(wire['params']);
  for (const key in wire) {
    const value = wire[key];
    if (value === null || value === undefined || extensionFields.has(key) || parsedFields.has(key) || others.includes(key)) continue;
    open[key] = value;
  }
  return open;
}

/** What `params` has for the model. */
export function modelParams(params: JsonValue | undefined): JsonObject {
  if (!isJsonObject(params)) return {};
  const custom = isJsonObject(params['custom_params']) ? params['custom_params'] : {};
  const isForModel = ([key, value]: [string, unknown]): boolean =>
    !steeringParams.has(key) && !parsedFields.has(key) && value !== null && value !== undefined;
  return Object.fromEntries(Object.entries({ ...params, ...custom }).filter(isForModel));
}

/** The messages after the system prompt of `params`, if it has one. */
export function withSystemParam(messages: ChatMessage[], params: GatewayFields['params']): ChatMessage[] {
  const system = params?.system ?? '';
  return system === '' ? messages : [{ role: 'system', content: system }, ...messages];
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
