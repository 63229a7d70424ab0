import { z } from 'zod';
import { json, type RouteDescription, type RouteDescriptions } from '../../description/route-description.ts';
import { anyObject, isoTime } from '../../description/shared-schemas.ts';
import { runsQuery } from './runs.ts';

const status = z.enum(['running', 'waiting', 'completed', 'failed', 'cancelled']);
const summaryShape = z
  .object({
    id: z.string(),
    status,
    model: z.string(),
    mode: z.string().nullable().describe('How the model uses tools.'),
    created: isoTime,
    finished: isoTime.nullable(),
    usage: anyObject.nullable(),
    caller: z.string().optional().describe('The id of the key, for administrators.'),
  })
  .meta({ id: 'Run' });
const listedShape = summaryShape
  .extend({
    model_requests: z.int().optional(),
    calls: z.int().optional().describe('Function calls, including those of presets called as tools.'),
    failed_calls: z.int().optional(),
    tools: z.array(z.string()).optional().describe('Functions that were called: the first 32.'),
    servers: z.array(z.string()).optional().describe('Tool servers of which functions were called: the first 32.'),
    error: z.object({ code: z.string(), message: z.string() }).optional().describe('Why it failed or was cancelled.'),
    last_event: z
      .object({ type: z.string(), time: isoTime, tool: z.string().optional() })
      .optional()
      .describe('The last event; for an active run, its progress.'),
  })
  .meta({ id: 'ListedRun' });
const runShape = summaryShape
  .extend({
    events: z.array(z.object({ type: z.string(), time: isoTime, data: anyObject })).describe('What happened, in order.'),
    prompts: z.array(anyObject).optional().describe('Prompts and answers of models, if `RECORD_PROMPTS` is on.'),
  })
  .meta({ id: 'RunWithEvents' });

const cancel = {
  tag: 'Runs',
  summary: 'Cancel a run',
  description: 'Its model request and its calls end at once. A run that is over stays as it is.',
  params: { id: 'The id of the run, the header `x-toolwharf-run-id` of its answer.' },
  answers: { 200: json('How the run ended.', z.object({ id: z.string(), status })) },
} satisfies RouteDescription;

export const runDescriptions = {
  'GET /api/runs': {
    tag: 'Runs',
    summary: 'List the runs of the last 24 hours',
    description:
      'The newest first: the caller’s own, for administrators all. A request looks through 1,000 runs at most, so with filters a page may hold fewer than `limit`, or none, and `next` still leads on.',
    query: {
      schema: runsQuery,
      fields: {
        limit: 'Runs of a page.',
        after: 'The `next` of the page before.',
        status: 'Runs with this status.',
        model: 'Runs of this model, as the request named it.',
        tool: 'Runs that called this function.',
        server: 'Runs that called a function of the tool server of this id.',
        caller: 'Runs of this caller, or of the people of this key.',
        id: 'Runs with this text in their id.',
        errors: '`true`: runs that failed, or in which a call failed.',
        from: 'Runs that began at this time or later.',
        to: 'Runs that began at this time or earlier.',
      },
    },
    answers: { 200: json('A page of runs.', z.object({ data: z.array(listedShape), next: z.string().nullable() })) },
  },
  'GET /api/runs/:id': {
    tag: 'Runs',
    summary: 'One run with its events',
    params: { id: 'The id of the run.' },
    answers: { 200: json('The run.', runShape) },
  },
  'POST /api/runs/:id/cancel': cancel,
  'POST /api/tasks/stop/:id': { ...cancel, aliasOf: 'POST /api/runs/{id}/cancel' },
  'POST /api/runs/:id/calls/:call_id/cancel': {
    tag: 'Runs',
    summary: 'Cancel one call of a run',
    description: 'The model is told that the call was cancelled, and continues.',
    params: { id: 'The id of the run.', call_id: 'The id of a call that is running.' },
    answers: { 200: json('It is cancelled.', z.object({ id: z.string(), call_id: z.string(), cancelled: z.literal(true) })) },
  },
} satisfies RouteDescriptions;
