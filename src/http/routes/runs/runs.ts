import type { RunStatus } from '../../../core/chat/run-event.ts';
import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../../../core/callers/caller.ts';
import { GatewayError, shownId } from '../../../core/errors.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { parseInput } from '../../parse-input.ts';
import { pageLimit } from '../page-limit.ts';
import type { LoggedRun, RunLog, RunPage, RunPosition, RunSummary, RunWork } from '../../../core/runs/run-log.ts';
import { mayAccess } from '../../../runs/running-runs.ts';
import type { ActiveRuns } from '../../../runs/active-runs.ts';

/** Runs in one page of the list. */
const runsPerPage = 200;

interface RunRouteOptions {
  log: Pick<RunLog, 'find' | 'list' | 'promptsOf'>;
  runs: Pick<ActiveRuns, 'cancel' | 'cancelCall'>;
  /** Ends a suspended run; false when there is none of that id. */
  cancelWaiting: (id: string) => Promise<boolean>;
}

const defaultLimit = 50;
type WithId = { Params: { id: string } };

/** `/api/runs`: the runs of the last 24 hours, their events, and their cancellation. Users get a 404 for runs of other callers. */
export const runRoutes: FastifyPluginAsync<RunRouteOptions> = async (app, { log, runs, cancelWaiting }) => {
  app.get('/api/runs', async (request) => {
    const { caller } = request;
    const { runs, next } = await log.list(parsePage(request.query, caller));
    return { data: runs.map((run) => toListed(run, caller)), next: next === undefined ? null : toCursor(next) };
  });

  app.get<WithId>('/api/runs/:id', async (request, reply) => {
    const { caller } = request;
    const run = await requireRun(request.params.id, caller, log);
    const prompts = await log.promptsOf(run);
    if (prompts.length === 0) return toWire(run, caller);
    // They are JSON already, and may be megabytes.
    const text = JSON.stringify(toWire(run, caller));
    return reply.type('application/json; charset=utf-8').send(`${text.slice(0, -1)},"prompts":[${prompts.join()}]}`);
  });

  for (const path of ['/api/runs/:id/cancel', '/api/tasks/stop/:id']) {
    app.post<WithId>(path, async (request) => {
      const { caller } = request;
      const { id } = request.params;
      if (runs.cancel(id, caller)) {
        request.log.info({ run_id: id, by: caller.id }, 'run cancelled');
        return { id, status: 'cancelled' };
      }
      // Cancelling a run that has just ended is not an error.
      const { status } = await requireRun(id, caller, log);
      const isEnded = status === 'waiting' && (await cancelWaiting(id));
      // A run that was waiting may have been resumed meanwhile.
      if (!isEnded && !runs.cancel(id, caller)) return { id, status };
      request.log.info({ run_id: id, by: caller.id }, 'waiting run cancelled');
      return { id, status: 'cancelled' };
    });
  }

  app.post<{ Params: { id: string; call_id: string } }>('/api/runs/:id/calls/:call_id/cancel', async (request) => {
    const { caller } = request;
    const { id, call_id: callId } = request.params;
    if (!runs.cancelCall(id, callId, caller)) {
      await requireRun(id, caller, log);
      throw new GatewayError('not_found', `This run has no running call ${shownId(callId)}. GET /api/runs/{id} shows its calls.`);
    }
    request.log.info({ run_id: id, call_id: callId, by: caller.id }, 'call cancelled');
    return { id, call_id: callId, cancelled: true };
  });
};

/** @throws GatewayError `not_found`, the same for a run that never existed and for another caller's. */
async function requireRun(id: string, caller: Caller, log: Pick<RunLog, 'find'>): Promise<LoggedRun> {
  const run = await log.find(id);
  if (run !== undefined && mayAccess(run, caller)) return run;
  throw new GatewayError('not_found', `There is no run ${shownId(id)}. Runs are kept for 24 hours.`);
}

const cursorPattern = /^(\d{1,15})\.([\w-]{1,64})$/;
const time = z.iso.datetime({ offset: true, message: 'must be a time such as 2026-01-31T08:00:00Z' });
const truth = z.enum(['true', 'false'], 'must be true or false');
const statusNames = ['running', 'waiting', 'completed', 'failed', 'cancelled'] as const satisfies readonly RunStatus[];
export const runsQuery = z.object({
  limit: pageLimit(runsPerPage).default(defaultLimit),
  after: z.string().regex(cursorPattern, 'must be the `next` of the page before').optional(),
  status: z.enum(statusNames, `must be one of ${statusNames.join(', ')}`).optional(),
  model: z.string().optional(),
  tool: z.string().optional(),
  server: z.string().optional(),
  caller: z.string().optional(),
  id: z.string().optional(),
  errors: truth.optional(),
  from: time.optional(),
  to: time.optional(),
});

/** @throws GatewayError `invalid_request` */
function parsePage(value: unknown, caller: Caller): RunPage {
  const { limit, after = '', caller: owner, id: idPart, errors, from, to, ...others } = parseInput(runsQuery, value);
  const [, created, id] = cursorPattern.exec(after) ?? [];
  const times = { from: from === undefined ? undefined : Date.parse(from), to: to === undefined ? undefined : Date.parse(to) };
  return {
    callerId: caller.role === 'admin' ? undefined : caller.id,
    limit,
    after: created === undefined || id === undefined ? undefined : { created: Number(created), id },
    filter: { ...others, ...times, owner, idPart, hasErrors: errors === 'true' },
  };
}

function toCursor({ created, id }: RunPosition): string {
  return `${created}.${id}`;
}

/** Times are ISO dates. `caller` is the id of the key, for administrators. */
function toSummary({ id, status, model, mode, created, finished, usage, callerId }: RunSummary, caller: Caller): JsonObject {
  return {
    id,
    status,
    model,
    mode: mode ?? null,
    created: toIso(created),
    finished: finished === undefined ? null : toIso(finished),
    usage: usage ?? null,
    ...(caller.role === 'admin' && { caller: callerId }),
  };
}

function toListed(run: RunSummary, caller: Caller): JsonObject {
  return { ...toSummary(run, caller), ...(run.work && toWork(run.work)) };
}

function toWork({ modelRequests, calls, failedCalls, tools, servers, error, last }: RunWork): JsonObject {
  return {
    model_requests: modelRequests,
    calls,
    failed_calls: failedCalls,
    tools,
    servers,
    ...(error && { error: { ...error } }),
    ...(last && { last_event: { ...last, time: toIso(last.time) } }),
  };
}

function toWire(run: LoggedRun, caller: Caller): JsonObject {
  return { ...toSummary(run, caller), events: run.events.map(({ type, time, data }) => ({ type, time: toIso(time), data })) };
}

function toIso(time: number): string {
  return new Date(time).toISOString();
}
