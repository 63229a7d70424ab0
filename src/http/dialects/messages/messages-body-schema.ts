import { z } from 'zod';
import { limits } from '../../../core/limits.ts';
import { gatewayFields, jsonObject } from '../requests/gateway-fields.ts';

const block = z.looseObject({ type: z.string().max(256) });
const content = z.union([z.string(), z.array(block).max(10_000)], 'must be text or a list of blocks');
const outputFormat = z.looseObject({ type: z.literal('json_schema'), schema: jsonObject });
const whole = z.number().int();
const mcpServer = z.looseObject({
  type: z.literal('url').nullish(),
  name: z.string(),
  url: z.string().max(2_048),
  authorization_token: z.string().nullish(),
  /** Strict, because a typo in a protective setting must not disable it. */
  tool_configuration: z
    .strictObject({
      enabled: z.boolean().nullish(),
      allowed_tools: z.array(z.string().max(limits.mcpNameCharacters)).max(limits.mcpTools).nullish(),
    })
    .nullish(),
});

const countedFields = {
  ...gatewayFields.shape,
  model: z.string().min(1, 'must name a model').max(256),
  messages: z
    .array(z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content }))
    .min(1, 'must contain at least one message')
    .max(limits.messages),
  system: z.union([z.string(), z.array(block).max(1_000)], 'must be text or a list of text blocks').nullish(),
  mcp_servers: z.array(mcpServer).max(1_000).nullish(),
  tools: z.array(jsonObject).max(limits.toolsPerRequest).nullish(),
  tool_choice: z
    .discriminatedUnion(
      'type',
      [
        z.looseObject({ type: z.enum(['auto', 'any']), disable_parallel_tool_use: z.boolean().nullish() }),
        z.looseObject({ type: z.literal('tool'), name: z.string().max(256), disable_parallel_tool_use: z.boolean().nullish() }),
        z.looseObject({ type: z.literal('none') }),
      ],
      'must be an object whose type is auto, any, tool or none',
    )
    .nullish(),
  thinking: z
    .discriminatedUnion(
      'type',
      [
        z.looseObject({ type: z.literal('enabled'), budget_tokens: whole.min(1).nullish(), display: z.string().nullish() }),
        z.looseObject({ type: z.enum(['adaptive', 'between_tools', 'disabled']), display: z.string().nullish() }),
      ],
      'must be an object whose type is enabled, adaptive, between_tools or disabled',
    )
    .nullish(),
  output_config: z.looseObject({ format: outputFormat.nullish(), effort: z.string().max(32).nullish() }).nullish(),
  output_format: outputFormat.nullish(),
} as const;

/** What `count_tokens` takes: a request without its limits. */
export const countedSchema = z.looseObject(countedFields);

/** The body of `POST /v1/messages`. Fields that it does not name are Anthropic's own business, and go nowhere. */
export const bodySchema = z.looseObject({
  ...countedFields,
  max_tokens: whole.min(1),
  stream: z.boolean().nullish(),
  stop_sequences: z.array(z.string()).max(1_000).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: whole.nullish(),
  metadata: z.looseObject({ user_id: z.string().max(4_096).nullish() }).nullish(),
});
export type CountedBody = z.infer<typeof countedSchema>;
export type Body = z.infer<typeof bodySchema>;
export type Block = z.infer<typeof block>;
