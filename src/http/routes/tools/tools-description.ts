import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { anyObject, errorShape, serversToConnect } from '../../description/shared-schemas.ts';
import { listQuery } from '../list-page.ts';

const kind = z.enum(['openapi', 'browser', 'function', 'mcp', 'preset']);
const toolShape = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    parameters: anyObject.describe('A JSON Schema.'),
    server: z.string(),
    kind,
  })
  .meta({ id: 'Tool' });
const recordedBody = {
  body: z.string().optional(),
  body_encoding: z.literal('base64').optional().describe('Set if the body is not text.'),
  truncated: z.literal(true).optional().describe('Set if the body was cut off.'),
};
const recordedRequest = z
  .object({
    method: z.string().optional(),
    url: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
    ...recordedBody,
    answer: z.object({ status: z.int().optional(), headers: z.record(z.string(), z.string()).optional(), ...recordedBody }).optional(),
    failure: z.string().optional().describe('Why there is no answer.'),
  })
  .meta({
    id: 'RecordedRequest',
    description: 'A request to a tool server, and its answer. Credentials are `[secret]`. Messages over a pipe have only a body.',
  });
const head = {
  id: z.string(),
  tool: z.string(),
  warnings: z
    .array(z.object({ code: z.literal('arguments_changed'), message: z.string() }))
    .optional()
    .describe('Arguments that were read under another name, or ignored.'),
  duration_ms: z.number(),
  requests: z.array(recordedRequest).optional().describe('Those of this call, where `record_requests` asks for them.'),
};
export const failureShape = z
  .object({
    ...head,
    error: z.object({
      code: z.string(),
      message: z.string(),
      type: z.string().optional(),
      param: z.string().optional(),
      detail: z.unknown().optional(),
    }),
    connect: z.object({ servers: serversToConnect }).optional(),
  })
  .meta({ id: 'ToolFailure', description: 'A call that has no result.' });
const resultShape = z
  .object({
    ...head,
    result: z.unknown(),
    truncated: z.literal(true).optional(),
    files: z
      .array(z.object({ type: z.string(), size_bytes: z.number(), name: z.string().optional(), url: z.string() }))
      .optional()
      .describe('Files of the result, as `data:` URIs.'),
  })
  .meta({ id: 'ToolResult' });

export const toolDescriptions = {
  'GET /api/tools': {
    tag: 'Tools',
    summary: 'List the functions that the key may use',
    query: {
      schema: listQuery,
      fields: { limit: 'Functions of a page. Absent: all.', after: 'The `next` of the page before.' },
    },
    answers: {
      200: json('The functions, as they are offered to a model.', z.object({ data: z.array(toolShape), next: z.string().nullable() })),
    },
  },
  'POST /api/tools/*': {
    tag: 'Tools',
    summary: 'Run a function',
    description: 'With the checks of a chat, and without a model.',
    path: '/api/tools/{id}/invoke',
    params: { id: 'The id or the name of the function. Ids contain `/`.' },
    body: {
      schema: z.looseObject({ arguments: anyObject.nullish(), record_requests: z.boolean().optional() }),
      isOptional: true,
      fields: {
        arguments: 'They have to fit the schema of the function.',
        record_requests: 'true: the answer has the requests to tool servers, and what they answered, in `requests`. For administrators.',
      },
      example: { arguments: { timezone: 'Asia/Tokyo' } },
    },
    answers: {
      200: json('The result, or why the call failed.', z.union([resultShape, failureShape])),
      400: json('The arguments do not fit.', z.union([failureShape, errorShape])),
      409: json('The call needs an approval that cannot be requested here, or a credential that the caller has not stored.', failureShape),
    },
  },
} satisfies RouteDescriptions;
