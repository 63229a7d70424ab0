import { z } from 'zod';
import { isJsonObject } from '../../../shared/json.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';

const jsonObject = z.custom<JsonObject>((value) => isJsonObject(value), 'must be an object');

const contentSchema = z.union(
  [z.string(), z.array(z.looseObject({ type: z.string() })).max(10_000)],
  'must be a string or an array of parts',
);
export const callSchema = z.looseObject({
  id: z.string(),
  function: z.object({ name: z.string(), arguments: z.union([z.string(), jsonObject]).optional() }),
});
const messageSchema = z.discriminatedUnion(
  'role',
  [
    z.looseObject({ role: z.enum(['system', 'developer', 'user']), content: contentSchema }),
    z.looseObject({ role: z.literal('assistant'), content: contentSchema.nullish(), tool_calls: z.array(callSchema).nullish() }),
    z.looseObject({ role: z.literal('tool'), content: contentSchema, tool_call_id: z.string() }),
  ],
  'must be one of system, developer, user, assistant, tool',
);
const names = z.array(z.string().max(256)).max(1_000);
/** Validated, because a typo in a protective setting must not disable it. */
const serverConfig = z.looseObject({
  needs_approval: z.union([z.boolean(), names], 'must be true, false, or a list of function names').nullish(),
  read_only: z.boolean().nullish(),
  methods: names.nullish(),
  tags: names.nullish(),
  function_name_filter_list: z.union([z.string(), names], 'must be a list of function names').nullish(),
});
export const serverSchema = z.looseObject({
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
});
const positive = z.number().int().positive();
/** The body of a chat request. Unknown fields are for the backend, or of another frontend. */
export const bodySchema = z.looseObject({
  model: z.string().min(1, 'must name a model').max(256),
  messages: z.array(messageSchema).min(1, 'must contain at least one message').max(limits.messages),
  stream: z.boolean().nullish(),
  n: positive.max(128).nullish(),
  tools: z.array(jsonObject).max(limits.toolsPerRequest).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  tool_servers: z.array(serverSchema).max(limits.toolServersPerRequest).nullish(),
  tool_ids: z.array(z.string().max(limits.toolIdCharacters)).max(limits.toolIds).nullish(),
  params: z
    .looseObject({
      function_calling: z.string().nullish(),
      max_tool_rounds: positive.max(limits.maxToolRounds).nullish(),
      tool_timeout_ms: positive.max(2_147_483_647).nullish(),
      system: z.string().nullish(),
    })
    .nullish(),
  session_id: z.string().max(256).nullish(),
  chat_id: z.string().max(256).nullish(),
  id: z.string().max(256).nullish(),
  variables: jsonObject.refine((value) => !hasMoreKeys(value, limits.variables), `must have at most ${limits.variables} fields`).nullish(),
  files: z.array(jsonObject).max(1_000).nullish(),
  metadata: jsonObject.nullish(),
  stream_options: jsonObject.nullish(),
  background: z.boolean().nullish(),
  interrupt: z.boolean().nullish(),
});
export type Body = z.infer<typeof bodySchema>;

/** For the body before it is parsed: each field is looked at several times, and goes to the backend. @throws GatewayError `invalid_request` */
export function requireFewFields(body: object): void {
  if (hasMoreKeys(body, limits.chatFields))
    throw new GatewayError('invalid_request', `The body has more than ${limits.chatFields} fields.`);
}

/** Whether an object has more than `maxKeys` fields; stops counting there. */
function hasMoreKeys(object: object, maxKeys: number): boolean {
  let keys = 0;
  for (const _key in object) {
    keys += 1;
    if (keys > maxKeys) return true;
  }
  return false;
}
