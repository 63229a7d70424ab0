import { z } from 'zod';
import { json, type RouteDescription, type RouteDescriptions } from '../../description/route-description.ts';
import { anyObject } from '../../description/shared-schemas.ts';
import { embeddingsSchema, embedSchema, showSchema } from '../../dialects/ollama/ollama-body-schema.ts';
import { ollamaErrorShape } from '../../dialects/ollama/ollama-description.ts';

const detailsShape = z.looseObject({
  parent_model: z.string(),
  format: z.string(),
  family: z.string(),
  families: z.array(z.string()).nullable(),
  parameter_size: z.string(),
  quantization_level: z.string(),
});
const named = { name: z.string(), model: z.string(), size: z.number(), digest: z.string(), details: detailsShape };
const tagShape = z
  .object({ ...named, modified_at: z.string(), capabilities: z.array(z.string()) })
  .meta({ id: 'OllamaModel', description: 'In Ollama’s shape. A model of another backend has the size 0.' });

const errors = ollamaErrorShape;
const refusal = {
  about: 'The models of a backend are changed at that backend itself.',
  content: { 'application/json': ollamaErrorShape },
};
const refused = {
  tag: 'Models',
  summary: 'Refused, whatever the key',
  description: 'Answers Ollama clients with the reason why models cannot be changed here.',
  answers: { 403: refusal },
  errors,
} satisfies RouteDescription;
const blob = { ...refused, params: { digest: 'The digest of a part of a model.' } };

export const ollamaDescriptions = {
  'GET /api/version': {
    tag: 'Models',
    summary: 'The version',
    answers: {
      200: json(
        'The version of Ollama whose API is spoken, and that of the gateway.',
        z.object({ version: z.string(), toolwharf: z.string() }),
      ),
    },
    errors,
  },
  'GET /api/tags': {
    tag: 'Models',
    summary: 'List the models in Ollama’s shape',
    answers: { 200: json('The models of all backends, and presets.', z.object({ models: z.array(tagShape) })) },
    errors,
  },
  'GET /api/ps': {
    tag: 'Models',
    summary: 'List the models that are loaded',
    answers: {
      200: json(
        'Those of every Ollama behind the gateway.',
        z.object({ models: z.array(z.looseObject({ name: z.string(), model: z.string() })) }),
      ),
    },
    errors,
  },
  'POST /api/show': {
    tag: 'Models',
    summary: 'One model in Ollama’s shape',
    body: { schema: showSchema, fields: { name: 'The older name of `model`.' }, example: { model: 'demo' } },
    answers: {
      200: json(
        'All that is known of it.',
        z.looseObject({ details: detailsShape, model_info: anyObject, capabilities: z.array(z.string()), modified_at: z.string() }),
      ),
    },
    errors,
  },
  'POST /api/embed': {
    tag: 'Models',
    summary: 'Embeddings in Ollama’s shape',
    body: {
      schema: embedSchema,
      fields: { input: 'A text, or a list of texts.', truncate: 'Only for Ollama, like `options` and `keep_alive`.' },
      example: { model: 'nomic-embed-text', input: 'Osaka' },
    },
    answers: {
      200: json(
        'A vector for each text.',
        z.object({
          model: z.string(),
          embeddings: z.array(z.array(z.number())),
          total_duration: z.int(),
          load_duration: z.int(),
          prompt_eval_count: z.int(),
        }),
      ),
    },
    errors,
  },
  'POST /api/embeddings': {
    tag: 'Models',
    summary: 'One embedding in Ollama’s older shape',
    body: { schema: embeddingsSchema, fields: { prompt: 'The text.' }, example: { model: 'nomic-embed-text', prompt: 'Osaka' } },
    answers: { 200: json('The vector of the text.', z.object({ embedding: z.array(z.number()) })) },
    errors,
  },
  'POST /api/pull': refused,
  'POST /api/push': refused,
  'POST /api/create': refused,
  'POST /api/copy': refused,
  'DELETE /api/delete': refused,
  'POST /api/blobs/:digest': blob,
  'GET /api/blobs/:digest': blob,
} satisfies RouteDescriptions;
