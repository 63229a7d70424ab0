import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { deletedShape, isoTime } from '../../description/shared-schemas.ts';
import { listQuery, listQueryFields, nextShape } from '../list-page.ts';
import { changedKey, newKey } from './keys.ts';

const limitsShape = z.object({
  requests_per_minute: z.int().optional(),
  concurrent_runs: z.int().optional(),
  tokens_per_day: z.int().optional(),
});
const usersShape = z.discriminatedUnion('from', [
  z.object({ from: z.literal('header'), name: z.string(), name_header: z.string().nullable(), email_header: z.string().nullable() }),
  z.object({
    from: z.literal('jwt'),
    name: z.string(),
    claim: z.string(),
    jwks_url: z.string().nullable(),
    issuer: z.string().nullable(),
    audience: z.string().nullable(),
    has_secret: z.boolean(),
  }),
]);

const keyShape = z
  .object({
    id: z.string(),
    name: z.string(),
    role: z.enum(['admin', 'user']),
    origin: z.enum(['environment', 'database']),
    first_characters: z.string().nullable(),
    created_at: isoTime.nullable(),
    expires_at: isoTime.nullable(),
    models: z.array(z.string()).nullable(),
    tools: z.array(z.string()).nullable(),
    limits: limitsShape.nullable(),
    total_limits: limitsShape.nullable(),
    users: usersShape.nullable(),
  })
  .meta({ id: 'Key', description: 'A key, without the key itself. A restriction that it does not have is null.' });

const fields = {
  role: 'The first key has to be an administrator’s; it ends the open gateway.',
  expires_at: 'A date such as `2030-01-31T00:00:00Z`, or seconds since 1970.',
  models: 'The only models and presets that it may use.',
  tools: 'The only tools, with entries as in `tool_ids`.',
  limits:
    'Chats, tool calls, embeddings and whatever else is passed on to a backend count; beyond a limit a request is answered 429. Of a key with `users`, for each person.',
  total_limits: 'As `limits`, for all people of the key together.',
  users: 'How requests name the person for whom the key speaks, so that each is a caller of their own.',
};
const params = { id: 'The id of the key.' };

export const keyDescriptions = {
  'GET /api/keys': {
    tag: 'Keys',
    summary: 'List the keys',
    query: { schema: listQuery, fields: listQueryFields },
    answers: { 200: json('The keys, in the order of their creation.', z.object({ data: z.array(keyShape), next: nextShape })) },
  },
  'POST /api/keys': {
    tag: 'Keys',
    summary: 'Create a key',
    body: { schema: newKey, fields, example: { name: 'ada', role: 'user', limits: { requests_per_minute: 60 } } },
    answers: { 201: json('The key, shown this once.', keyShape.extend({ key: z.string() }).meta({ id: 'NewKey' })) },
  },
  'PATCH /api/keys/:id': {
    tag: 'Keys',
    summary: 'Change a key',
    description: 'Omitted fields stay unchanged; null removes a restriction.',
    params,
    body: { schema: changedKey, fields },
    answers: { 200: json('The key as it is now.', keyShape) },
  },
  'DELETE /api/keys/:id': {
    tag: 'Keys',
    summary: 'Delete a key',
    description: 'Its sockets, streams and runs end at once.',
    params,
    answers: { 200: json('Deleted.', deletedShape) },
  },
} satisfies RouteDescriptions;
