import { z } from 'zod';
import { describeSchemaIssue } from '../../shared/describe-schema-issue.ts';
import { GatewayError } from '../../core/errors.ts';
import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { KeyRecord } from '../../core/registry.ts';
import type { KeyFields } from '../../admin/api-keys.ts';

/** A label for people. */
const maxNameLength = 100;
/** Longer lists say the opposite of a restriction. */
const maxEntries = 1_000;
/** Every one of the last minute is remembered. */
const mostRequestsPerMinute = 10_000;
/** More than one process serves. */
const mostConcurrentRuns = 10_000;
/** The end of the year 9999 in seconds. A time in milliseconds is larger, and would make a key that never expires. */
const latestSeconds = 253_402_300_799;

const timeHint = 'must be a date as in 2030-01-31T00:00:00Z, or seconds since 1970';
const time = z
  .union([z.number().nonnegative().max(latestSeconds), z.iso.datetime({ offset: true }), z.iso.date()], timeHint)
  .transform((value) => (typeof value === 'number' ? Math.round(value * 1_000) : Date.parse(value)));
const toolEntry = z
  .string()
  .max(256)
  .regex(/^(?:server|toolset|function|preset):./, 'must be an entry as in tool_ids, such as "server:time"');
const limitsHint = 'must be an object as in {"requests_per_minute": 60, "concurrent_runs": 4}';
const wholeNumber = (max: number) => {
  const hint = `must be a whole number from 1 to ${max}`;
  return z.int(hint).min(1, hint).max(max, hint).nullish();
};
const limitsObject = z
  .strictObject({ requests_per_minute: wholeNumber(mostRequestsPerMinute), concurrent_runs: wholeNumber(mostConcurrentRuns) }, limitsHint)
  .transform(({ requests_per_minute, concurrent_runs }): JsonObject => ({
    ...(isSet(requests_per_minute) && { requests_per_minute }),
    ...(isSet(concurrent_runs) && { concurrent_runs }),
  }));

const role = z.enum(['admin', 'user'], 'must be "admin" or "user"');
const name = z.string('must be a name').trim().min(1, 'must be a name').max(maxNameLength);
const restrictions = {
  expires_at: time.nullish(),
  models: z.array(z.string().min(1).max(256)).max(maxEntries).nullish(),
  tools: z.array(toolEntry).max(maxEntries).nullish(),
  limits: limitsObject.nullish(),
};
// Strict: a misspelt restriction would make a key that may do everything.
const newKey = z.strictObject({ name, role, ...restrictions });
const changedKey = z.strictObject({ name: name.optional(), role: role.optional(), ...restrictions });

/**
 * `{name, role, expires_at?, models?, tools?, limits?}`; `now` in milliseconds since 1970.
 * @throws GatewayError `invalid_request` with `param` set to the first field at fault.
 */
export function parseNewKey(body: unknown, now: number): KeyFields {
  const fields = parse(newKey, body);
  const expiresAt = fields.expires_at;
  if (typeof expiresAt === 'number' && expiresAt <= now)
    throw new GatewayError('invalid_request', `expires_at: is in the past, so the key would never work; it ${timeHint}.`, {
      param: 'expires_at',
    });
  return toKeyFields(fields);
}

/**
 * What stays out of the body stays as it is, and `null` takes a restriction away. An expiry in the past ends the key.
 * @throws GatewayError `invalid_request` with `param` set to the first field at fault.
 */
export function parseKeyChange(body: unknown): (record: KeyRecord) => KeyFields {
  const changes = parse(changedKey, body);
  return ({ name, role, expiresAt, models, tools, limits }) =>
    toKeyFields({
      name: changes.name ?? name,
      role: changes.role ?? role,
      expires_at: changes.expires_at === undefined ? expiresAt : changes.expires_at,
      models: changes.models === undefined ? models : changes.models,
      tools: changes.tools === undefined ? tools : changes.tools,
      limits: changes.limits === undefined ? limits : changes.limits,
    });
}

function toKeyFields({ name, role, expires_at: expiresAt, models, tools, limits }: z.infer<typeof newKey>): KeyFields {
  return {
    name,
    role,
    ...(isSet(expiresAt) && { expiresAt }),
    ...(isSet(models) && { models }),
    ...(isSet(tools) && { tools }),
    ...(isSet(limits) && { limits }),
  };
}

function isSet<Value>(value: Value | null | undefined): value is Value {
  return value !== null && value !== undefined;
}

function parse<Output>(schema: z.ZodType<Output>, body: unknown): Output {
  const parsed = schema.safeParse(isJsonObject(body) ? body : undefined);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  if (issue === undefined || (issue.path.length === 0 && issue.code !== 'unrecognized_keys'))
    throw new GatewayError('invalid_request', 'The body must be a JSON object with name and role.');
  if (issue.code === 'unrecognized_keys') {
    const param = [...issue.path, issue.keys[0]?.slice(0, 100) ?? ''].join('.');
    const message =
      issue.path[0] === 'limits'
        ? 'is not a limit; those are requests_per_minute and concurrent_runs'
        : 'is not a field of a key; those are name, role, expires_at, models, tools and limits';
    throw new GatewayError('invalid_request', `${param}: ${message}.`, { param });
  }
  const param = issue.path.join('.');
  throw new GatewayError('invalid_request', `${param}: ${describeSchemaIssue(issue)}`, { param });
}
