import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { listQuery, listQueryFields, nextShape } from '../list-page.ts';
import { anyObject, deletedShape } from '../../description/shared-schemas.ts';

const listedFunction = z.object({ name: z.string(), operation: z.string(), description: z.string(), tokens: z.int() });
const heldMeaning = 'MCP tools that are left out until an administrator accepts their changed definition.';
const heldFunction = z.object({
  name: z.string(),
  operation: z.string(),
  changed: z.array(z.string()),
  fingerprint: z.string(),
  description: z.string(),
  parameters: anyObject,
});
const wholeHeldFunction = heldFunction.extend({
  definition: anyObject.describe('The current definition, verbatim.'),
  pinned: anyObject.nullable().describe('The definition that was first seen or last accepted. Null if it was not stored.'),
});
const listedReportShape = z
  .object({
    ok: z.boolean(),
    error: z.string().optional().describe('What failed, and what to do about it.'),
    credential: z
      .enum(['refused', 'own'])
      .optional()
      .describe(
        '`refused`: the server lists no functions without a credential, or rejects this one (HTTP 401, 403). `own`: it lists them to people who have stored their own.',
      ),
    next_try_ms: z.int().optional().describe('When a server that failed is tried again by itself, in milliseconds from now.'),
    info: anyObject.nullable(),
    version: z.string().nullable().describe('The version of OpenAPI or MCP.'),
    document_url: z.string().optional().describe('Where the document was found, if it is not at `url` and `path`.'),
    functions: z.array(listedFunction),
    renamed: z.array(z.object({ from: z.string(), to: z.string(), reason: z.string() })),
    omitted: z.array(z.object({ operation: z.string(), reason: z.string() })),
    held: z.array(heldFunction).optional().describe(heldMeaning),
    warnings: z.array(z.string()),
    stderr: z.array(z.string()).optional(),
    tokens: z.int().describe('Estimated tokens of all functions together.'),
  })
  .meta({ id: 'ListedReport', description: 'How a document or a list of tools became functions.' });
export const reportShape = listedReportShape
  .extend({
    functions: z.array(listedFunction.extend({ parameters: anyObject.describe('A JSON Schema.') })),
    held: z.array(wholeHeldFunction).optional().describe(heldMeaning),
  })
  .meta({ id: 'Report' });

export const connectionShape = z
  .looseObject({
    url: z.string(),
    path: z.string(),
    type: z.enum(['openapi', 'mcp']),
    auth_type: z.string(),
    per_user: z.literal(true).optional(),
    headers: z.record(z.string(), z.null()).describe('Names of headers; their values are never shown.'),
    forward_headers: z.array(z.string()).optional(),
    protocol_version: z.string().optional(),
    config: anyObject,
    info: anyObject,
    origin: z.string(),
  })
  .meta({ id: 'Connection', description: 'A tool server, without its secrets.' });
const ownConnection = connectionShape.extend({ id: z.string(), has_key: z.boolean() });
const shownShape = ownConnection.extend({ report: reportShape }).meta({ id: 'ToolServer' });
const listShape = z.object({ data: z.array(ownConnection.extend({ report: listedReportShape }).meta({ id: 'ListedToolServer' })) });

export const connectionFields = {
  id: 'Default: derived from the title of the document.',
  url: 'The server, or its document.',
  path: 'Where the document is, below `url` or as a full address. Default: `openapi.json`.',
  base_path: 'The path in front of the operations, instead of the one in the document.',
  spec: 'The document itself; nothing is fetched then.',
  key: 'The credential. It is never shown again.',
  per_user: 'Each person stores their own credential (`PUT /api/credentials/{server}`); `key` is then not used.',
  headers: 'Headers of every call.',
  forward_headers:
    'Headers of the request to the gateway that are forwarded with calls. Never cookies, nor headers that authenticate the caller or name the person.',
  protocol_version: 'The only version of MCP that is spoken with the server. Default: the newest that both sides know.',
  'config.enable': 'false switches the server off.',
  'config.default': 'false: only requests that name the server in `tool_ids` get its functions.',
  'config.public_headers': 'Added headers whose values results may show.',
  'config.needs_approval': 'Whether calls need approval by a person: all, or those of these functions.',
};
const params = { id: 'The id of the tool server.' };

/** The routes that take no connection. */
const fixedDescriptions = {
  'GET /api/tool-servers': {
    tag: 'Tool servers',
    summary: 'List the tool servers',
    query: { schema: listQuery, fields: listQueryFields },
    answers: { 200: json('The tool servers.', listShape.extend({ next: nextShape })) },
  },
  'GET /api/tool-servers/:id': {
    tag: 'Tool servers',
    summary: 'One tool server',
    params,
    answers: { 200: json('The tool server, with its functions.', shownShape) },
  },
  'PATCH /api/tool-servers/:id': {
    tag: 'Tool servers',
    summary: 'Change a tool server',
    description: 'Omitted fields stay unchanged. If `url` moves to another origin, secrets are dropped unless they are sent again.',
    params,
    body: { schema: z.looseObject({}).describe('Fields of a connection.'), example: { config: { enable: false } } },
    answers: { 200: json('The tool server as it is now.', shownShape) },
  },
  'DELETE /api/tool-servers/:id': {
    tag: 'Tool servers',
    summary: 'Delete a tool server',
    params,
    answers: { 200: json('Deleted.', deletedShape) },
  },
  'POST /api/tool-servers/:id/refresh': {
    tag: 'Tool servers',
    summary: 'Read its document again',
    description: 'If the new document cannot be used, the functions stay unchanged.',
    params,
    answers: { 200: json('The new report.', reportShape) },
  },
  'POST /api/tool-servers/:id/accept': {
    tag: 'Tool servers',
    summary: 'Accept changed definitions of MCP tools',
    params,
    body: {
      schema: z.looseObject({ functions: z.record(z.string(), z.string()) }),
      fields: { functions: 'The fingerprint of each function, from `held` of the report.' },
    },
    answers: { 200: json('The new report.', reportShape) },
  },
} satisfies RouteDescriptions;

/** `schema`: what checks a connection. */
export function toolServerDescriptions(schema: z.ZodType) {
  const body = { schema, fields: connectionFields, example: { url: 'http://127.0.0.1:8000' } };
  return {
    'POST /api/tool-servers': {
      tag: 'Tool servers',
      summary: 'Register a tool server',
      description: 'A server that does not answer is registered too. Its report names the problem.',
      body,
      answers: { 201: json('The tool server, with its functions.', shownShape) },
    },
    'PUT /api/tool-servers': {
      tag: 'Tool servers',
      summary: 'Replace all tool servers',
      body: { schema: z.union([z.array(schema), z.object({ data: z.array(schema) })]) },
      answers: { 200: json('All of them.', listShape) },
    },
    'POST /api/tool-servers/verify': {
      tag: 'Tool servers',
      summary: 'Try a connection',
      description: 'Nothing is stored.',
      body,
      answers: { 200: json('The report of this connection.', reportShape) },
    },
    ...fixedDescriptions,
  } satisfies RouteDescriptions;
}
