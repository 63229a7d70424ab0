import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../../../core/callers/caller.ts';
import { GatewayError, shownId } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import { keyIdOf, personIdOf } from '../../../core/callers/people.ts';
import { dayOf, type KnownPerson, type UsageDimension, type UsageRow, type UsageStore } from '../../../core/stores/usage-store.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { parseInput } from '../../parse-input.ts';

interface UsageRouteOptions {
  usage: Pick<UsageStore, 'report' | 'listPeople'>;
  /** Writes what is counted but not stored yet. */
  flush: () => Promise<void>;
  /** Deletes a person with everything that is theirs; false if nobody of that id is known. */
  deletePerson: (keyId: string, id: string) => Promise<boolean>;
  /** Milliseconds since 1970. */
  now: () => number;
}

const dayMs = 24 * 60 * 60 * 1_000;
/** Rows of one report. */
const maxRows = 10_000;
const defaultPeople = 1_000;

const day = z.iso.date('must be a day as in 2026-11-22');
export const usageQuery = z.object({
  by: z.enum(['key', 'user', 'model', 'tool'], 'must be key, user, model or tool').default('key'),
  from: day.optional(),
  to: day.optional(),
});
export const peopleQuery = z.object({
  limit: z.coerce.number().int().min(1).max(defaultPeople).default(defaultPeople),
  offset: z.coerce.number().int().min(0).default(0),
  search: z.string().trim().max(200).optional(),
});

type WithPerson = { Params: { key: string; id: string } };

/** `GET /api/usage`, `GET /api/users`, and the deletion of a person. Users see their own usage alone. */
export const usageRoutes: FastifyPluginAsync<UsageRouteOptions> = async (app, { usage, flush, deletePerson, now }) => {
  app.get('/api/usage', async ({ caller, query }) => {
    const {
      by,
      from = dayOf(now() - limits.usageDays * dayMs),
      to = dayOf(now()),
    } = parseInput(usageQuery, query, 'a query with by, from and to');
    await flush();
    const rows = await usage.report({ by, from, to, owner: ownerOf(caller), limit: maxRows });
    return { data: rows.map((row) => toWire(row, by)) };
  });

  app.get('/api/users', async ({ query }) => {
    const page = parseInput(peopleQuery, query, 'a query with limit, offset and search');
    await flush();
    return { data: (await usage.listPeople(page)).map(toUser) };
  });

  app.delete<WithPerson>('/api/users/:key/:id', async ({ params: { key, id }, log, caller }) => {
    await flush();
    if (!(await deletePerson(key, id)))
      throw new GatewayError(
        'not_found',
        `Nobody with the id "${shownId(id)}" is known behind this key. GET /api/users lists whom it has.`,
      );
    log.info({ key_id: key, user: id, by: caller.id }, 'person deleted');
    return { key, id, deleted: true };
  });
};

function ownerOf({ id, role }: Caller): { keyId: string; personId: string } | undefined {
  return role === 'admin' ? undefined : { keyId: keyIdOf(id), personId: personIdOf(id) ?? '' };
}

function toWire(
  { day: of, keyId, personId, model, tool, requests, tokensIn, tokensOut, toolCalls, failures }: UsageRow,
  by: UsageDimension,
): JsonObject {
  const names: Record<UsageDimension, JsonObject> = {
    key: { key: keyId },
    user: { key: keyId, user: personId === '' ? null : personId },
    model: { model: model === '' ? null : model },
    tool: { tool },
  };
  return { day: of, ...names[by], requests, tokens_in: tokensIn, tokens_out: tokensOut, tool_calls: toolCalls, failures };
}

function toUser({ keyId, last, ...person }: KnownPerson): JsonObject {
  return { ...person, key: keyId, last: new Date(last).toISOString() };
}
