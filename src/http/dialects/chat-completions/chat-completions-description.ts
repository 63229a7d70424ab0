import { z } from 'zod';
import { bodySchema } from './chat-body-schema.ts';
import type { AnswerDescription, RouteDescription, RouteDescriptions } from '../../description/route-description.ts';
import {
  anyObject,
  approvalShape,
  connectShape,
  secondsSince1970,
  serverSentEvent,
  sourceShape,
  warningsShape,
} from '../../description/shared-schemas.ts';
import { gatewayFieldDescriptions } from '../requests/gateway-fields-description.ts';

export const completionShape = z
  .looseObject({
    id: z.string(),
    object: z.literal('chat.completion'),
    created: secondsSince1970,
    model: z.string(),
    choices: z.array(
      z.looseObject({
        index: z.int(),
        message: z.looseObject({
          role: z.literal('assistant'),
          content: z.string().nullable(),
          refusal: z.string().nullable(),
          reasoning_content: z.string().optional(),
          tool_calls: z.array(anyObject).optional().describe('Calls of the functions that the request brought.'),
        }),
        finish_reason: z.string().nullable(),
      }),
    ),
    usage: anyObject.optional().describe('The sum of all requests to models that the answer took.'),
    sources: z.array(sourceShape).optional(),
    warnings: warningsShape.optional(),
    approval: approvalShape.optional(),
    connect: connectShape.optional(),
  })
  .meta({ id: 'ChatCompletion', description: 'OpenAI’s, with fields for what the gateway did.' });

/** An answer of a chat, whole or as a stream. */
const chatAnswer: AnswerDescription = {
  about: 'The answer. With `stream: true` server-sent events, each with a chunk as JSON, and `[DONE]` at the end.',
  content: { 'application/json': completionShape, 'text/event-stream': serverSentEvent },
};

const chat = {
  tag: 'Chat',
  summary: 'A chat completion',
  description:
    'OpenAI’s chat completions. The models get the tools that are registered, or those of `tool_ids`. Fields that are not named here are model ' +
    'parameters, and go to the backend as they are.',
  body: {
    schema: bodySchema,
    fields: {
      tools: 'Your own functions, which the gateway never runs: a call to one ends the answer.',
      ...gatewayFieldDescriptions,
      background: 'Answers at once with the id of the run, and streams to the session of `session_id`.',
    },
    example: { model: 'demo', messages: [{ role: 'user', content: 'What time is it in Osaka?' }] },
  },
  answers: { 200: chatAnswer },
} satisfies RouteDescription;

export const chatCompletionDescriptions = {
  'POST /v1/chat/completions': chat,
  'POST /api/chat/completions': { ...chat, aliasOf: 'POST /v1/chat/completions' },
  'POST /api/v1/chat/completions': { ...chat, aliasOf: 'POST /v1/chat/completions' },
} satisfies RouteDescriptions;
