import { z } from 'zod';

/** Shapes that several routes answer with. */

export const anyObject = z.record(z.string(), z.unknown());
export const isoTime = z.string().meta({ format: 'date-time' });
export const secondsSince1970 = z.number().describe('Seconds since 1970.');

/** Of each event, as OpenAPI 3.1 reads it. The events of a dialect have schemas of their own, in the API whose dialect it is. */
export const serverSentEvent = z.unknown().describe('Server-sent events.');

export const errorShape = z
  .object({
    error: z.object({
      message: z.string().describe('What is wrong, and what to do about it.'),
      type: z.string(),
      param: z.string().nullable().describe('The field of the request at fault.'),
      code: z.string().describe('Stable; `docs/api.md` lists all.'),
    }),
    run_id: z.string().optional().describe('Present when tools were called before the error.'),
    calls: z
      .array(z.looseObject({ id: z.string(), tool: z.string() }))
      .optional()
      .describe('What was called before the error.'),
    sources: z.array(anyObject).optional(),
  })
  .meta({ id: 'Error' });

/** The answer to the deletion of what has an id. */
export const deletedShape = z.object({ id: z.string(), deleted: z.literal(true) }).meta({ id: 'Deleted' });

export const sourceShape = z
  .object({
    source: z.looseObject({ name: z.string() }),
    document: z.array(z.string()),
    metadata: z.array(anyObject),
    tool_result: z.literal(true).optional(),
  })
  .meta({ id: 'Source', description: 'A result of a tool, or a file, behind an answer.' });
export const serversToConnect = z.array(z.object({ server: z.string(), name: z.string(), url: z.string().optional() }));
export const connectShape = z
  .object({ run_id: z.string(), servers: serversToConnect, token: z.string() })
  .meta({ id: 'Connect', description: 'Tool servers to which the caller has to connect before the run continues.' });
export const approvalShape = z
  .looseObject({ run_id: z.string(), calls: z.array(z.looseObject({ id: z.string() })) })
  .meta({ id: 'Approval', description: 'Calls that wait for a human.' });

export const warningsShape = z
  .array(z.object({ code: z.string(), message: z.string() }))
  .describe('What was asked for and could not be used.');
