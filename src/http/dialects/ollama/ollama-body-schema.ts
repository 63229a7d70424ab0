import { z } from 'zod';
import { limits } from '../../../core/limits.ts';
import { nestedFunctionForm } from '../requests/function-form.ts';
import { gatewayFields, jsonObject } from '../requests/gateway-fields.ts';

/** Texts in one request for embeddings; OpenAI takes no more. */
const embeddedTexts = 2_048;

const modelName = z.string().max(256);
const keepAlive = z.union([z.string().max(64), z.number()], 'must be a duration such as "5m", or seconds');

const callSchema = z.looseObject({
  id: z.string().nullish(),
  function: z.looseObject({
    name: z.string(),
    // Text is against the protocol, but some clients send what OpenAI's have.
    arguments: z.union([jsonObject, z.string()], 'must be an object').nullish(),
  }),
});
/** Ollama reads roles in any case. */
const role = z.preprocess(
  (value) => (typeof value === 'string' ? value.toLowerCase() : value),
  z.enum(['system', 'developer', 'user', 'assistant', 'tool'], 'must be one of system, user, assistant, tool'),
);
export const messageSchema = z.looseObject({
  role,
  content: z.string().nullish(),
  thinking: z.string().nullish(),
  images: z.array(z.string()).max(1_000).nullish(),
  tool_calls: z.array(callSchema).max(limits.toolsPerRequest).nullish(),
  tool_name: z.string().nullish(),
  name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
});
const toolSchema = z.looseObject({
  type: z.string().nullish(),
  function: z.looseObject({ name: z.string().min(1) }, `must be an object with a name. ${nestedFunctionForm}`),
});
export type OllamaTool = z.infer<typeof toolSchema>;

/** What a chat and a completion have in common. */
const common = {
  model: modelName.nullish(),
  name: modelName.nullish(),
  stream: z.boolean().nullish(),
  format: z.union([z.enum(['json', '']), jsonObject], 'must be "json" or a JSON Schema').nullish(),
  options: jsonObject.nullish(),
  keep_alive: keepAlive.nullish(),
  think: z.union([z.boolean(), z.enum(['low', 'medium', 'high', 'max', ''])], 'must be true, false, "low", "medium" or "high"').nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
};
export type CommonBody = z.infer<z.ZodObject<typeof common>>;

export const chatSchema = z.looseObject({
  ...gatewayFields.shape,
  ...common,
  messages: z.array(messageSchema).max(limits.messages).nullish(),
  tools: z.array(toolSchema).max(limits.toolsPerRequest).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
});

export const generateSchema = z.looseObject({
  ...gatewayFields.shape,
  ...common,
  prompt: z.string().nullish(),
  suffix: z.string().nullish(),
  system: z.string().nullish(),
  images: z.array(z.string()).max(1_000).nullish(),
  raw: z.boolean().nullish(),
  template: z.string().nullish(),
  context: z.array(z.number()).max(limits.bodyNumbers).nullish(),
});
export type GenerateBody = z.infer<typeof generateSchema>;

const texts = z.union([z.string(), z.array(z.string()).max(embeddedTexts)], 'must be a text or a list of texts');
export const embedSchema = z.looseObject({
  model: modelName.nullish(),
  name: modelName.nullish(),
  input: texts.nullish(),
  dimensions: z.int().min(0).nullish(),
  truncate: z.boolean().nullish(),
  options: jsonObject.nullish(),
  keep_alive: keepAlive.nullish(),
});
export const embeddingsSchema = z.looseObject({
  model: modelName.nullish(),
  name: modelName.nullish(),
  prompt: z.string().nullish(),
  options: jsonObject.nullish(),
  keep_alive: keepAlive.nullish(),
});
export const showSchema = z.looseObject({ model: modelName.nullish(), name: modelName.nullish(), verbose: z.boolean().nullish() });
