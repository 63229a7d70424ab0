import { z } from 'zod';
import type { RouteDescriptions } from '../../description/route-description.ts';
import { anyObject, secondsSince1970, serverSentEvent, warningsShape } from '../../description/shared-schemas.ts';
import { completionSchema } from './completion-schema.ts';

const completionShape = z
  .object({
    id: z.string(),
    object: z.literal('text_completion'),
    created: secondsSince1970,
    model: z.string(),
    choices: z.array(
      z.object({
        text: z.string(),
        index: z.int(),
        logprobs: anyObject.nullable(),
        finish_reason: z.enum(['stop', 'length', 'content_filter']),
      }),
    ),
    usage: anyObject.optional(),
    warnings: warningsShape.optional(),
  })
  .meta({ id: 'TextCompletion' });

export const completionDescriptions = {
  'POST /v1/completions': {
    tag: 'Chat',
    summary: 'A completion of a bare prompt',
    description:
      'OpenAI’s older completions, for editors that fill in the middle. They go to backends that have them, and to Ollama as its generate. No tools ' +
      'run. Fields that are not named here are model parameters, and go to the backend as they are.',
    body: {
      schema: completionSchema,
      fields: { prompt: 'One text.', suffix: 'What follows the text that is to be inserted.' },
      example: { model: 'demo', prompt: 'Hello' },
    },
    answers: {
      200: {
        about: 'The completion. With `stream: true` server-sent events, each with a chunk as JSON, and `[DONE]` at the end.',
        content: { 'application/json': completionShape, 'text/event-stream': serverSentEvent },
      },
    },
  },
} satisfies RouteDescriptions;
