import { z } from 'zod';
import { limits } from '../../../core/limits.ts';
import { gatewayFields, jsonObject } from '../requests/gateway-fields.ts';

/** The id of a request for approval in the Responses API. The gateway's own ids have about sixty characters, so a longer one is not ours. */
const approvalRequestIdCharacters = 256;

const typed = z.looseObject({ type: z.string() });
const contentSchema = z.union([z.string(), z.array(typed).max(10_000)], 'must be a string or an array of parts');

const messageSchema = z.looseObject({
  role: z.enum(['user', 'assistant', 'system', 'developer'], 'must be one of user, assistant, system, developer'),
  content: contentSchema,
});
const functionCallSchema = z.looseObject({ call_id: z.string(), name: z.string(), arguments: z.string(), namespace: z.string().nullish() });
const customCallSchema = z.looseObject({ call_id: z.string(), name: z.string(), input: z.string(), namespace: z.string().nullish() });
const outputSchema = z.looseObject({ call_id: z.string(), output: contentSchema });
const reasoningSchema = z.looseObject({ encrypted_content: z.string().nullish() });
const mcpCallSchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  arguments: z.string(),
  output: z.string().nullish(),
  error: z.unknown().optional(),
  approval_request_id: z.string().nullish(),
});
const approvalRequestSchema = z.looseObject({ id: z.string(), name: z.string(), arguments: z.string() });
/** An unknown field is refused: it may hold edited arguments, and without it the call would run with the model's. */
const approvalResponseSchema = z.strictObject({
  type: z.string().nullish(),
  id: z.string().nullish(),
  status: z.string().nullish(),
  approval_request_id: z.string().max(approvalRequestIdCharacters),
  approve: z.boolean(),
  reason: z.string().max(limits.approvalMessageCharacters).nullish(),
});
const referenceSchema = z.looseObject({ id: z.string() });
const toolSearchCallSchema = z.looseObject({ call_id: z.string().nullish(), arguments: z.unknown().optional() });
const toolSearchOutputSchema = z.looseObject({ call_id: z.string().nullish(), tools: z.array(typed).max(limits.toolsPerRequest) });
const additionalToolsSchema = z.looseObject({ tools: z.array(typed).max(limits.toolsPerRequest) });

/** The items that are read, by their type. An item without a type is a message if it has a role, and otherwise a reference. */
export const itemSchemas = {
  message: messageSchema,
  function_call: functionCallSchema,
  function_call_output: outputSchema,
  custom_tool_call: customCallSchema,
  custom_tool_call_output: outputSchema,
  tool_search_call: toolSearchCallSchema,
  tool_search_output: toolSearchOutputSchema,
  reasoning: reasoningSchema,
  mcp_call: mcpCallSchema,
  mcp_list_tools: z.looseObject({ server_label: z.string() }),
  mcp_approval_request: approvalRequestSchema,
  mcp_approval_response: approvalResponseSchema,
  item_reference: referenceSchema,
  additional_tools: additionalToolsSchema,
} as const;

const namedTool = z.looseObject({ type: z.string(), name: z.string().min(1).max(256), description: z.string().nullish() });
const functionForm = 'Send a function as {"type": "function", "name", "description", "parameters"}.';
const toolSchema = z.looseObject({ type: z.string(`must name the type of the tool. ${functionForm}`) });
export const functionSchema = namedTool.extend({
  name: z.string(`must name the function. ${functionForm}`).min(1).max(256),
  parameters: jsonObject.nullish(),
  strict: z.boolean().nullish(),
});
export const customSchema = namedTool.extend({
  format: jsonObject.nullish(),
  input_schema: z.never(`is Anthropic's, and a custom tool takes text. ${functionForm}`).optional(),
});
export const toolSearchSchema = z.looseObject({ description: z.string().nullish(), parameters: jsonObject.nullish() });
export const namespaceSchema = namedTool.extend({ tools: z.array(typed).max(limits.toolsPerRequest) });

const formatSchema = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: z.literal('text') }),
    z.looseObject({ type: z.literal('json_object') }),
    z.looseObject({
      type: z.literal('json_schema'),
      name: z.string(),
      schema: jsonObject,
      strict: z.boolean().nullish(),
      description: z.string().nullish(),
    }),
  ],
  'must be one of text, json_object, json_schema',
);

const count = z.number().int().positive();
/** The body of a request. Fields of OpenAI's that say nothing to a model here are accepted and left out. */
export const bodySchema = gatewayFields.extend({
  model: z.string().min(1, 'must name a model').max(256),
  input: z.union([z.string(), z.array(jsonObject).max(limits.messages)], 'must be text or a list of items').nullish(),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  store: z.boolean().nullish(),
  background: z.boolean().nullish(),
  previous_response_id: z.string().max(256).nullish(),
  tools: z.array(toolSchema).max(limits.toolsPerRequest).nullish(),
  tool_choice: z
    .union([z.enum(['none', 'auto', 'required']), typed], 'must be "none", "auto", "required" or an object with a type')
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_tool_calls: count.nullish(),
  max_output_tokens: count.nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  top_logprobs: z.number().int().min(0).max(20).nullish(),
  text: z.looseObject({ format: formatSchema.nullish(), verbosity: z.string().nullish() }).nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  include: z.array(z.string()).max(100).nullish(),
  metadata: jsonObject.nullish(),
  truncation: z.string().nullish(),
  user: z.string().nullish(),
  service_tier: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
});
export type Body = z.infer<typeof bodySchema>;
