import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiKeys, KeyFields } from '../../../admin/api-keys.ts';
import { fixedCallerId } from '../../../core/callers/caller.ts';
import { invalidField } from '../../../core/errors.ts';
import type { KeyRecord } from '../../../core/stores/registry.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { visibleText } from '../../../shared/text/visible-text.ts';
import { parseInput } from '../../parse-input.ts';
import { listQuery, pageIn } from '../list-page.ts';
import { peopleRule, toPeopleRule, toUsersWire } from './people-rule.ts';

interface KeyRouteOptions {
  keys: ApiKeys;
  /** Whether `TOOLWHARF_ADMIN_KEY` is set, which is then listed too. */
  hasFixedKey: boolean;
  /** Milliseconds since 1970. */
  now: () => number;
}

type WithId = { Params: { id: string } };

/** `/api/keys`, for administrators. Only the answer to its creation shows a key; its hash is never shown. */
export const keyRoutes: FastifyPluginAsync<KeyRouteOptions> = async (app, { keys, hasFixedKey, now }) => {
  app.get('/api/keys', async ({ query }) => {
    const stored = await keys.list();
    const all = hasFixedKey ? [{ id: fixedCallerId }, ...stored] : stored;
    const { entries, next } = pageIn(all, parseInput(listQuery, query, 'a query with limit and after'), 'key');
    return { data: entries.map((entry) => ('hash' in entry ? toWire(entry) : fixedKey)), ...next };
  });

  app.post('/api/keys', async (request, reply) => {
    const { record, key } = await keys.create(parseNewKey(request.body, now()));
    log(request, record.id, 'key created');
    reply.code(201).header('cache-control', 'no-store');
    return { ...toWire(record), key };
  });

  app.patch<WithId>('/api/keys/:id', async (request) => {
    const changes = parseInput(changedKey, request.body);
    const record = await keys.change(request.params.id, (before) => withChanges(before, changes));
    log(request, record.id, 'key changed');
    return toWire(record);
  });

  app.delete<WithId>('/api/keys/:id', async (request) => {
    const { id } = request.params;
    await keys.delete(id);
    log(request, id, 'key deleted');
    return { id, deleted: true };
  });
};

/** Characters of a key's name. */
const maxNameLength = 100;
/** Entries in `models` or `tools`; a longer list is hardly a restriction. */
const maxEntries = 1_000;
/** The largest value of a limit: the rate limiter keeps the time of each request, and one process serves no more runs at once. */
const maxLimit = 10_000;
/** The end of the year 9999, in seconds. It refuses a time in milliseconds, which would make a key that never expires. */
const latestSeconds = 253_402_300_799;

const timeHint = 'must be a date as in 2030-01-31T00:00:00Z, or seconds since 1970';
const time = z
  .union([z.number().nonnegative().max(latestSeconds), z.iso.datetime({ offset: true }), z.iso.date()], timeHint)
  .transform((value) => (typeof value === 'number' ? Math.round(value * 1_000) : Date.parse(value)));
const toolEntry = z
  .string()
  .max(256)
  .regex(/^(?:server|toolset|function|preset):./, 'must be an entry as in tool_ids, such as "server:time"');

const limitHint = `must be a whole number from 1 to ${maxLimit}`;
const limit = z.int(limitHint).min(1, limitHint).max(maxLimit, limitHint).nullish();
/** More tokens than any model writes in a day. */
const maxTokens = 1_000_000_000_000;
const tokensHint = 'must be a whole number of at least 1';
const tokens = z.int(tokensHint).min(1, tokensHint).max(maxTokens, `must be at most ${maxTokens}`).nullish();
/** Of a key, and of callers with tokens. */
export const callerLimits = z
  .strictObject(
    { requests_per_minute: limit, concurrent_runs: limit, tokens_per_day: tokens },
    {
      error: ({ code }) =>
        code === 'unrecognized_keys'
          ? 'is not a limit; those are requests_per_minute, concurrent_runs and tokens_per_day'
          : 'must be an object as in {"requests_per_minute": 60, "concurrent_runs": 4}',
    },
  )
  .transform((limits): JsonObject => Object.fromEntries(Object.entries(limits).filter(([, value]) => typeof value === 'number')));

// Strict, because a key with a misspelled restriction could do everything.
export const newKey = z.strictObject(
  {
    name: z
      .string('must be a name')
      .trim()
      .min(1, 'must be a name')
      .max(maxNameLength)
      .refine((name) => !/[\p{Cc}\p{Cs}]/u.test(name) && visibleText(name) === name, 'must consist of visible characters'),
    role: z.enum(['admin', 'user'], 'must be "admin" or "user"'),
    expires_at: time.nullish(),
    models: z.array(z.string().min(1).max(256)).max(maxEntries).nullish(),
    tools: z.array(toolEntry).max(maxEntries).nullish(),
    limits: callerLimits.nullish(),
    total_limits: callerLimits.nullish(),
    users: peopleRule.nullish(),
  },
  {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? 'is not a field of a key; those are name, role, expires_at, models, tools, limits, total_limits and users'
        : undefined,
  },
);
export const changedKey = newKey.partial();

/** @throws GatewayError `invalid_request` with `param` set to the first field at fault */
function parseNewKey(body: unknown, now: number): KeyFields {
  const { name, role, ...restrictions } = parseInput(newKey, body, 'a JSON object with name and role');
  const expiresAt = restrictions.expires_at ?? Infinity;
  if (expiresAt <= now) throw invalidField('expires_at', `is in the past, so the key would never work. It ${timeHint}, in the future.`);
  return withChanges({ name, role }, restrictions);
}

/** Omitted fields stay as they are; `null` removes a restriction. An expiry in the past ends the key. */
function withChanges(before: KeyFields, { expires_at: expiresAt, ...changes }: z.infer<typeof changedKey>): KeyFields {
  const { total_limits: totalLimits, users, ...plain } = changes;
  const fields = {
    ...before,
    ...plain,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(totalLimits !== undefined && { totalLimits }),
    ...(users !== undefined && { people: users && toPeopleRule(users, before.people) }),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as KeyFields;
}

const fixedKey: JsonObject = {
  id: fixedCallerId,
  name: 'TOOLWHARF_ADMIN_KEY',
  role: 'admin',
  origin: 'environment',
  created_at: null,
  expires_at: null,
  models: null,
  tools: null,
  limits: null,
  total_limits: null,
  users: null,
};

/** A restriction that the key does not have is `null`. Times are ISO dates. */
function toWire({ id, name, role, createdAt, expiresAt, models, tools, limits, totalLimits, people: rule }: KeyRecord): JsonObject {
  return {
    id,
    name,
    role,
    origin: 'database',
    created_at: new Date(createdAt).toISOString(),
    expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    models: models ?? null,
    tools: tools ?? null,
    limits: limits ?? null,
    total_limits: totalLimits ?? null,
    users: rule === undefined ? null : toUsersWire(rule),
  };
}

function log(request: FastifyRequest, keyId: string, message: string): void {
  request.changedId = keyId;
  request.log.info({ key_id: keyId, by: request.caller.id }, message);
}
