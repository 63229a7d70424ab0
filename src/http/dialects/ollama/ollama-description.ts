import { z } from 'zod';
import type { RouteDescription, RouteDescriptions } from '../../description/route-description.ts';
import { anyObject, approvalShape, connectShape, isoTime, sourceShape, warningsShape } from '../../description/shared-schemas.ts';
import { gatewayFieldDescriptions } from '../requests/gateway-fields-description.ts';
import { chatSchema, generateSchema } from './ollama-body-schema.ts';

/** The body of errors of all routes of Ollama's API. */
export const ollamaErrorShape = z
  .object({
    error: z.string().describe('What is wrong, and what to do about it.'),
    run_id: z.string().optional().describe('Present when tools were called before the error.'),
    calls: z.array(anyObject).optional(),
    sources: z.array(anyObject).optional(),
  })
  .meta({ id: 'OllamaError' });

const count = z.int().optional();
const ending = {
  done: z.boolean(),
  done_reason: z.enum(['stop', 'length', 'load', 'unload']).optional(),
  total_duration: z.int().optional().describe('Nanoseconds, as all durations.'),
  load_duration: count,
  prompt_eval_count: count,
  prompt_eval_duration: count,
  eval_count: count,
  eval_duration: count,
  logprobs: z.array(anyObject).optional(),
  sources: z.array(sourceShape).optional(),
  warnings: warningsShape.optional(),
  approval: approvalShape.optional(),
  connect: connectShape.optional(),
};
const head = { model: z.string(), created_at: isoTime };
const callsShape = z
  .array(z.object({ id: z.string(), function: z.object({ index: z.int(), name: z.string(), arguments: anyObject }) }))
  .optional()
  .describe('Calls of the functions that the request brought.');

const chatShape = z
  .object({
    ...head,
    message: z.object({
      role: z.literal('assistant'),
      content: z.string(),
      thinking: z.string().optional(),
      tool_calls: callsShape,
    }),
    ...ending,
  })
  .meta({ id: 'OllamaChat', description: 'Ollama’s, with fields for what the gateway did where `done` is true.' });
const generateShape = z
  .object({ ...head, response: z.string(), thinking: z.string().optional(), context: z.array(z.int()).optional(), ...ending })
  .meta({ id: 'OllamaGenerate' });

/** One answer, or its pieces in lines. */
function answersOf(shape: z.ZodType): RouteDescription['answers'] {
  const about = 'The answer: a line of JSON for each piece, the last with `done: true`, or with `stream: false` one object.';
  return { 200: { about, content: { 'application/json': shape, 'application/x-ndjson': shape } } };
}

const optionDescriptions = {
  options: 'Ollama’s options. Options that OpenAI’s API also has work with every backend, the others only with Ollama.',
  format: '`json`, or a JSON Schema that the answer has to fit.',
  think: 'Whether, or how much, the model reasons before it answers.',
  keep_alive: 'How long Ollama keeps the model loaded.',
};

export const ollamaChatDescriptions = {
  'POST /api/chat': {
    tag: 'Chat',
    summary: 'A chat in Ollama’s format',
    description: 'For clients that are made for Ollama. The models, those of other backends too, get the tools that are registered.',
    body: {
      schema: chatSchema,
      fields: { tools: 'Your own functions, which the gateway never runs.', ...optionDescriptions, ...gatewayFieldDescriptions },
      example: { model: 'demo', messages: [{ role: 'user', content: 'What time is it in Osaka?' }], stream: false },
    },
    answers: answersOf(chatShape),
    errors: ollamaErrorShape,
  },
  'POST /api/generate': {
    tag: 'Chat',
    summary: 'A completion in Ollama’s format',
    description:
      'An answer to a prompt, or with `suffix` the text between the two. No tools run unless `tool_ids` or `tool_servers` names some.',
    body: {
      schema: generateSchema,
      fields: { suffix: 'What follows the text that is to be inserted.', ...optionDescriptions, ...gatewayFieldDescriptions },
      example: { model: 'demo', prompt: 'Hello', stream: false },
    },
    answers: answersOf(generateShape),
    errors: ollamaErrorShape,
  },
} satisfies RouteDescriptions;
