import { z } from 'zod';
import { json } from '../description/route-description.ts';
import type { RouteDescription, RouteDescriptions } from '../description/route-description.ts';
import { anyObject, isoTime } from '../description/shared-schemas.ts';
import { runsQuery } from './runs.ts';

const status = z.enum(['running', 'waiting', 'completed', 'failed', 'cancelled']);
const summaryShape = z
  .object({
    id: z.string(),
    status,
    model: z.string(),
    mode: z.string().nullable().describe('How tools are chosen.'),
    created: isoTime,
    finished: isoTime.nullable(),
    usage: anyObject.nullable(),
    caller: z.string().optional().describe('The id of the key, for administrators.'),
  })
  .meta({ id: 'Run' });
const runShape = summaryShape
  .extend({
    events: z.array(z.object({ type: z.string(), time: isoTime, data: anyObject })).describe('What happened, in order.'),
    prompts: z.array(anyObject).optional().describe('What models were asked and answered, where `RECORD_PROMPTS` asks for it.'),
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
    description: 'The newest first: the caller’s own, for administrators all.',
    query: { schema: runsQuery, fields: { limit: 'Runs of a page.', after: 'The `next` of the page before.' } },
    answers: { 200: json('A page of runs.', z.object({ data: z.array(summaryShape), next: z.string().nullable() })) },
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
    description: 'The model reads that it was cancelled, and goes on.',
    params: { id: 'The id of the run.', call_id: 'The id of a call that is running.' },
    answers: { 200: json('It is cancelled.', z.object({ id: z.string(), call_id: z.string(), cancelled: z.literal(true) })) },
  },
} satisfies RouteDescriptions;
