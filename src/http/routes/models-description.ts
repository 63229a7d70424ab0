import { z } from 'zod';
import { json } from '../description/route-description.ts';
import type { RouteDescription, RouteDescriptions } from '../description/route-description.ts';

const modelShape = z
  .looseObject({
    id: z.string(),
    object: z.literal('model'),
    created: z.number(),
    owned_by: z.string(),
    name: z.string(),
    connection_type: z.enum(['local', 'external']),
    capabilities: z.array(z.string()).optional(),
  })
  .meta({ id: 'Model', description: 'In OpenAI’s shape, with what its backend says beside it.' });

const list: RouteDescription = {
  tag: 'Models',
  summary: 'List the models',
  description: 'Models of every backend that answers within two seconds, and presets, as far as the key may use them.',
  answers: { 200: json('The models.', z.object({ object: z.literal('list'), data: z.array(modelShape) })) },
};

export const modelDescriptions: RouteDescriptions = {
  'GET /v1/models': list,
  'GET /api/models': { ...list, aliasOf: 'GET /v1/models' },
  'GET /api/v1/models': { ...list, aliasOf: 'GET /v1/models' },
  'GET /v1/models/*': {
    tag: 'Models',
    summary: 'One model',
    path: '/v1/models/{id}',
    params: { id: 'The id of the model, which may contain `/`.' },
    answers: { 200: json('The model.', modelShape) },
  },
  'POST /v1/embeddings': {
    tag: 'Models',
    summary: 'Embeddings',
    description: 'Passed on to the backend of the model, and answered as it answers.',
    body: {
      schema: z.looseObject({ model: z.string(), input: z.unknown() }),
      fields: { input: 'A text, or a list of texts.' },
      example: { model: 'nomic-embed-text', input: 'Osaka' },
    },
    answers: { 200: json('The answer of the backend.', z.looseObject({})) },
  },
};
