import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { anyObject } from '../../description/shared-schemas.ts';

const readyShape = z.object({
  ready: z.boolean(),
  reason: z.enum(['draining', 'storage']).optional(),
  backends: z.array(
    z.object({
      name: z.string(),
      state: z.string(),
      models: z.int(),
      optional: z.literal(true).optional().describe('It is not configured, only looked for where it usually is, and may be missing.'),
    }),
  ),
  tool_servers: z.array(
    z.object({
      id: z.string(),
      state: z.enum(['ok', 'unreachable', 'not_loaded']),
      skipped: z
        .literal(true)
        .optional()
        .describe('Opening it has ended the gateway several times, so it is skipped for an hour, or until a refresh.'),
      functions: z.int(),
      held: z.int().optional().describe('Functions withheld until an administrator accepts their changed definition.'),
    }),
  ),
});

/** The gateway itself: name, state, settings, and this document. */
export const gatewayDescriptions = {
  'GET /': {
    tag: 'Gateway',
    summary: 'Name, version and main routes',
    answers: {
      200: json('The main routes by what they are for.', z.object({ name: z.string(), version: z.string() }).catchall(z.string())),
    },
  },
  'GET /health': {
    tag: 'Gateway',
    summary: 'Whether the process is alive',
    answers: { 200: json('It is.', z.object({ status: z.literal(true) })) },
  },
  'GET /ready': {
    tag: 'Gateway',
    summary: 'Whether requests may be sent',
    description: 'With the state of each backend and tool server; a failed one does not make the gateway unready.',
    answers: { 200: json('They may.', readyShape), 503: json('They may not, for this `reason`.', readyShape) },
  },
  'GET /api/caller': {
    tag: 'Gateway',
    summary: 'Whose key or token the request has',
    description: 'For a key that speaks for several people, the person too where the request names one.',
    answers: {
      200: json(
        'Who is asking.',
        z.object({
          id: z.string(),
          name: z.string().nullable().describe('Of the key; null where there is none.'),
          role: z.enum(['admin', 'user']),
          is_open: z.boolean().describe('True for anyone on the machine of an open gateway; a key that is sent is ignored.'),
          person: z.object({ id: z.string(), name: z.string().optional(), email: z.string().optional() }).nullable(),
        }),
      ),
    },
  },
  'GET /api/settings': {
    tag: 'Gateway',
    summary: 'Every setting in force, and every limit',
    answers: {
      200: json(
        'The settings; secrets appear only as `set`.',
        z.object({
          version: z.string(),
          data: z.array(z.object({ name: z.string(), origin: z.enum(['environment', 'file', 'default']), value: z.string().nullable() })),
          limits: anyObject,
        }),
      ),
    },
  },
  'GET /metrics': {
    tag: 'Gateway',
    summary: 'Metrics',
    answers: { 200: { about: 'In the text format of Prometheus.', content: { 'text/plain': z.string() } } },
  },
  'GET /.well-known/jwks.json': {
    tag: 'Gateway',
    summary: 'The public keys of session tokens',
    answers: {
      200: {
        about: 'A key set (RFC 7517), for tool servers that verify who is asking.',
        content: { 'application/jwk-set+json': z.object({ keys: z.array(anyObject) }) },
      },
    },
  },
  'GET /client.js': {
    tag: 'Gateway',
    summary: 'The client for tools in the browser',
    answers: { 200: { about: 'An ES module.', content: { 'text/javascript': z.string() } } },
  },
  'GET /openapi.json': {
    tag: 'Gateway',
    summary: 'This document',
    description: '`GET /docs` shows it to people.',
    answers: { 200: json('An OpenAPI 3.1 document.', z.looseObject({ openapi: z.string(), paths: anyObject })) },
  },
} satisfies RouteDescriptions;
