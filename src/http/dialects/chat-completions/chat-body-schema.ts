import { z } from 'zod';
import { limits } from '../../../core/limits.ts';
import { gatewayFields, jsonObject } from '../requests/gateway-fields.ts';

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
/** The body of a chat request. Unknown fields are for the backend, or of another frontend. */
export const bodySchema = z.looseObject({
  model: z.string().min(1, 'must name a model').max(256),
  messages: z.array(messageSchema).min(1, 'must contain at least one message').max(limits.messages),
  stream: z.boolean().nullish(),
  n: z.number().int().positive().max(128).nullish(),
  tools: z.array(jsonObject).max(limits.toolsPerRequest).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  ...gatewayFields.shape,
  metadata: jsonObject.nullish(),
  stream_options: jsonObject.nullish(),
  background: z.boolean().nullish(),
});
export type Body = z.infer<typeof bodySchema>;
