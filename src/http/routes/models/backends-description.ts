import { z } from 'zod';
import { backendKinds } from '../../../core/models/backend-config.ts';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { deletedShape } from '../../description/shared-schemas.ts';

/** What is not known is absent. */
const modelDetails = z.array(
  z.object({
    id: z.string().describe('As clients name the model: with the prefix.'),
    context: z.int().optional().describe('The largest context, in tokens.'),
    bytes: z.number().optional().describe('Its size on the disk of the server.'),
    parameters: z.string().optional().describe('The number of its parameters, such as `8.0B`.'),
    tools: z.boolean().optional().describe('Whether it calls functions natively.'),
    vision: z.boolean().optional().describe('Whether it sees pictures.'),
  }),
);

const backendAnswer = z
  .object({
    id: z.string(),
    type: z.enum(backendKinds),
    url: z.string().optional(),
    urls: z.array(z.string()).optional(),
    has_key: z.boolean(),
    headers: z.record(z.string(), z.null()).describe('Names of headers; their values are never shown.'),
    prefix: z.string().optional(),
    models: z.array(z.string()).optional(),
    max_concurrent: z.int().optional(),
    queue: z.int().optional(),
    fallbacks: z.array(z.string()).optional(),
    tool_images: z.enum(['auto', 'never']).optional(),
    schemas: z.string().optional(),
    max_context: z.int().optional(),
    origin: z.enum(['environment', 'file', 'api']).describe('Where it was entered. Only those of the origin `api` can be changed here.'),
    optional: z.literal(true).optional().describe('It is not configured, only looked for where it usually is.'),
    unreadable_secrets: z.array(z.string()).optional().describe('Stored secrets that cannot be decrypted. The backend is left out.'),
    state: z
      .string()
      .describe('`ok`, `partly_unreachable` (only some of its addresses answer), `unreachable`, `key_refused` or `secret_unreadable`.'),
    model_count: z.int().describe('Models that it offers.'),
    model_details: modelDetails.optional().describe('These models, where one backend is asked for.'),
    fault: z.string().nullable().describe('Why its models cannot be listed.'),
    warnings: z.array(z.string()).optional(),
  })
  .meta({ id: 'Backend', description: 'A backend, without its secrets.' });

const verificationShape = z
  .object({
    ok: z.boolean(),
    models: z.array(z.string()).describe('The models that it offers, without the prefix.'),
    model_details: modelDetails,
    servers: z.array(
      z.object({
        url: z.string(),
        models: z.int().describe('Models that it lists.'),
        fault: z.string().optional(),
        cure: z.string().optional().describe('What to do about the fault.'),
      }),
    ),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'BackendVerification', description: 'How the servers of a backend answer.' });

const fields = {
  id: 'Default: the type, with a number from the second on. It cannot be changed.',
  name: 'The older word for `id`.',
  url: 'The address of the server: for Ollama its root, for others up to and including `/v1`.',
  urls: 'Several servers with the same models, instead of `url`.',
  key: 'It is never shown again.',
  headers: 'Headers of every request.',
  prefix: 'Precedes the ids of its models, with a slash between them.',
  models: 'The only models that are offered, by the names of the backend. They are its list if it has none.',
  max_concurrent: 'Requests that it may have at the same time.',
  queue: 'Requests that may wait for one of these places.',
  fallbacks: 'Ids of models that may answer while it fails.',
  tool_images: '`never`: pictures in results of tools are not sent to it.',
  schemas: 'The dialect of JSON Schema that it understands. Default: by its type and address.',
  max_context: 'Of an Ollama: the largest context in tokens that the gateway asks for.',
};
const params = { id: 'The id of the backend.' };

/** `schema`: what checks an entry. */
export function backendDescriptions(schema: z.ZodType) {
  return {
    'GET /api/backends': {
      tag: 'Backends',
      summary: 'List the backends',
      description: 'Those of the environment and the file too, in the order in which they are searched for a model.',
      answers: { 200: json('All of them.', z.object({ data: z.array(backendAnswer) })) },
    },
    'POST /api/backends': {
      tag: 'Backends',
      summary: 'Add a backend',
      description: 'It is used at once. One that does not answer is added too; `fault` names the problem.',
      body: { schema, fields, example: { type: 'ollama', url: 'http://127.0.0.1:11434' } },
      answers: { 201: json('The backend.', backendAnswer) },
    },
    'POST /api/backends/verify': {
      tag: 'Backends',
      summary: 'Ask the servers of a backend for their models before it is added',
      description: 'Nothing is stored.',
      body: { schema, fields, example: { type: 'ollama', url: 'http://127.0.0.1:11434' } },
      answers: { 200: json('What they answered.', verificationShape) },
    },
    'GET /api/backends/:id': { tag: 'Backends', summary: 'One backend', params, answers: { 200: json('The backend.', backendAnswer) } },
    'PATCH /api/backends/:id': {
      tag: 'Backends',
      summary: 'Change a backend',
      description:
        'Omitted fields stay unchanged; null removes a field. The key and the headers are dropped if the backend moves to another origin, unless they are sent again. Chats that run go on as they began.',
      params,
      body: { schema: schema instanceof z.ZodObject ? schema.partial() : schema, fields },
      answers: { 200: json('The backend as it is now.', backendAnswer) },
    },
    'DELETE /api/backends/:id': { tag: 'Backends', summary: 'Delete a backend', params, answers: { 200: json('Deleted.', deletedShape) } },
    'POST /api/backends/:id/verify': {
      tag: 'Backends',
      summary: 'Ask its servers for their models now',
      params,
      answers: { 200: json('What they answered.', verificationShape) },
    },
  } satisfies RouteDescriptions;
}
