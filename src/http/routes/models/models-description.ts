import { z } from 'zod';
import { messagesErrorShape } from '../../dialects/messages/messages-description.ts';
import { pageQuery } from '../../dialects/messages/model-info.ts';
import { json, type RouteDescription, type RouteDescriptions } from '../../description/route-description.ts';
import { errorShape, isoTime } from '../../description/shared-schemas.ts';

const modelShape = z
  .looseObject({
    id: z.string(),
    object: z.literal('model'),
    created: z.number(),
    owned_by: z.string(),
    name: z.string(),
    connection_type: z.enum(['local', 'external']),
    capabilities: z.array(z.string()).optional(),
    task_model: z
      .string()
      .optional()
      .describe('The model for titles and the choice of tools, if one is configured and the key may use it.'),
    price: z.object({ input: z.number(), output: z.number() }).optional().describe('`MODEL_PRICES`: US dollars for a million tokens.'),
  })
  .meta({ id: 'Model', description: 'In OpenAI’s shape, with what its backend says beside it.' });

const listShape = z.object({ object: z.literal('list'), data: z.array(modelShape) });
const modelInfoShape = z
  .looseObject({ type: z.literal('model'), id: z.string(), display_name: z.string(), created_at: isoTime })
  .meta({ id: 'ModelInfo', description: 'In Anthropic’s shape.' });
const modelPageShape = z.object({
  data: z.array(modelInfoShape),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});
const headers = { 'anthropic-version': 'With it the answer, and errors, have Anthropic’s shape.' };

/** In the shape that the answer has. */
const errors = z.union([errorShape, messagesErrorShape]);

const list = {
  tag: 'Models',
  summary: 'List the models',
  description: 'Models of every backend that answers within two seconds, and presets, as far as the key may use them.',
  answers: { 200: json('The models.', listShape) },
} satisfies RouteDescription;

export const modelDescriptions = {
  'GET /v1/models': {
    ...list,
    headers,
    errors,
    query: {
      schema: pageQuery,
      fields: {
        limit: 'Of Anthropic’s shape: the most models of a page.',
        after_id: 'Of Anthropic’s shape: begin after this model.',
        before_id: 'Of Anthropic’s shape: end before this model.',
      },
    },
    answers: { 200: json('The models.', z.union([listShape, modelPageShape])) },
  },
  'GET /api/models': list,
  'GET /api/v1/models': { ...list, aliasOf: 'GET /api/models' },
  'GET /v1/models/*': {
    tag: 'Models',
    summary: 'One model',
    path: '/v1/models/{id}',
    params: { id: 'The id of the model, which may contain `/`.' },
    headers,
    errors,
    answers: { 200: json('The model.', z.union([modelShape, modelInfoShape])) },
  },
} satisfies RouteDescriptions;
