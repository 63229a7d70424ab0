import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import { keyIdOf, personIdOf } from '../../../core/callers/people.ts';
import { auditDays, type AuditEntry, type AuditStore } from '../../../core/stores/audit-store.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { parseInput } from '../../parse-input.ts';
import { pageLimit } from '../page-limit.ts';

interface AuditRouteOptions {
  audit: Pick<AuditStore, 'list'>;
  /** Milliseconds since 1970. */
  now: () => number;
}

const dayMs = 24 * 60 * 60 * 1_000;
const defaultLimit = 100;
const maxLimit = 1_000;

const hint = 'must be a day or a time, as in 2026-11-22 or 2026-11-22T08:00:00Z';
const time = z.union([z.iso.date(), z.iso.datetime({ offset: true })], hint);

export const auditQuery = z.object({
  from: time.optional(),
  to: time.optional(),
  caller: z.string().min(1).max(1_000).optional(),
  action: z.string().min(1).max(100).optional(),
  limit: pageLimit(maxLimit).default(defaultLimit),
  after: z.coerce.number('must be the `next` of the page before').int().min(1).optional(),
});

/** `GET /api/audit`, for administrators: who changed and decided what in the last 90 days, newest first. */
export const auditRoutes: FastifyPluginAsync<AuditRouteOptions> = async (app, { audit, now }) => {
  app.get('/api/audit', async ({ query }) => {
    const { from, to, caller: callerId, action, limit, after: before } = parseInput(auditQuery, query, 'a query');
    const oldest = now() - auditDays * dayMs;
    const range = { from: Math.max(oldest, from === undefined ? oldest : Date.parse(from)), to: endOf(to) };
    const entries = await audit.list({ ...range, callerId, action, before, limit: limit + 1 });
    const shown = entries.slice(0, limit);
    const next = entries.length > limit ? String(shown.at(-1)?.id) : null;
    return { data: shown.map(toWire), next };
  });
};

/** A day ends with its last millisecond. */
function endOf(to: string | undefined): number {
  if (to === undefined) return Number.MAX_SAFE_INTEGER;
  return Date.parse(to) + (to.length === '2026-11-22'.length ? dayMs - 1 : 0);
}

function toWire({ id, time: at, callerId, action, subject, ownerId, detail }: AuditEntry): JsonObject {
  return {
    id: String(id),
    time: new Date(at).toISOString(),
    by: toCaller(callerId),
    action,
    subject: subject ?? null,
    owner: ownerId === undefined ? null : toCaller(ownerId),
    detail: detail ?? {},
  };
}

function toCaller(callerId: string): JsonObject {
  return { key: keyIdOf(callerId), user: personIdOf(callerId) ?? null };
}
