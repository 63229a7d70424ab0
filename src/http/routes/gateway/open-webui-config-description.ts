import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { anyObject, errorShape } from '../../description/shared-schemas.ts';
import { connectionFields, connectionShape, reportShape } from '../tools/tool-servers-description.ts';

const errors = errorShape.extend({ detail: z.string() }).meta({ id: 'OpenWebUiError' });
const listShape = z.object({
  TOOL_SERVER_CONNECTIONS: z.array(connectionShape.extend({ key: z.literal('') }).meta({ id: 'OpenWebUiConnection' })),
});

/** `schema`: what checks a connection. */
export function openWebUiConfigDescriptions(schema: z.ZodType) {
  return {
    'GET /api/v1/configs/tool_servers': {
      tag: 'Tool servers',
      summary: 'The tool servers in Open WebUI’s shape',
      answers: { 200: json('All of them.', listShape) },
      errors,
    },
    'POST /api/v1/configs/tool_servers': {
      tag: 'Tool servers',
      summary: 'Replace all tool servers, in Open WebUI’s shape',
      description: 'An omitted or empty key stays unchanged.',
      body: { schema: z.looseObject({ TOOL_SERVER_CONNECTIONS: z.array(schema) }) },
      answers: { 200: json('All of them.', listShape) },
      errors,
    },
    'POST /api/v1/configs/tool_servers/verify': {
      tag: 'Tool servers',
      summary: 'Try a connection, in Open WebUI’s shape',
      body: { schema, fields: connectionFields },
      answers: {
        200: json(
          'Its functions.',
          reportShape.extend({ status: z.literal(true), specs: z.array(anyObject) }).meta({ id: 'OpenWebUiReport' }),
        ),
      },
      errors,
    },
  } satisfies RouteDescriptions;
}
