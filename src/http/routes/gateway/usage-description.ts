import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { isoTime } from '../../description/shared-schemas.ts';
import { peopleQuery, usageQuery } from './usage.ts';

const usageShape = z
  .object({
    day: z.iso.date(),
    key: z.string().optional().describe('The id of the key, by `key` and `user`.'),
    user: z.string().nullable().optional().describe('By `user`: the id of the person; null for a key that is one caller.'),
    model: z.string().nullable().optional().describe('By `model`; null for requests that reached none.'),
    tool: z.string().optional().describe('By `tool`: `<server>/<function>`. Then only `tool_calls` and `failures` count.'),
    requests: z.int(),
    tokens_in: z.int(),
    tokens_out: z.int(),
    tool_calls: z.int(),
    failures: z.int(),
  })
  .meta({ id: 'Usage' });
const userShape = z
  .object({
    id: z.string(),
    key: z.string().describe('The id of the key.'),
    name: z.string().optional(),
    email: z.string().optional(),
    last: isoTime,
  })
  .meta({ id: 'User' });

export const usageDescriptions = {
  'GET /api/usage': {
    tag: 'Usage',
    summary: 'What was used, by day',
    description:
      'Administrators see the usage of all callers, others their own. Days are in UTC and are stored for 90 days. At most 10,000 rows, newest first.',
    query: { schema: usageQuery, fields: { by: 'What there is a row for.', from: 'The first day.', to: 'The last day.' } },
    answers: { 200: json('Sums of a day.', z.object({ data: z.array(usageShape) })) },
  },
  'GET /api/users': {
    tag: 'Usage',
    summary: 'List the people behind keys',
    description: 'Whoever used the gateway last comes first.',
    query: {
      schema: peopleQuery,
      fields: {
        limit: 'People of a page.',
        offset: 'People to leave out before it.',
        search: 'Part of an id, a name or an address, in any case.',
      },
    },
    answers: { 200: json('A page of people.', z.object({ data: z.array(userShape) })) },
  },
  'DELETE /api/users/:key/:id': {
    tag: 'Usage',
    summary: 'Delete a person',
    description: 'Ends their runs and sessions, and deletes everything that is theirs. What they used counts for the key from then on.',
    params: { key: 'The id of the key.', id: 'The id of the person, percent-encoded.' },
    answers: { 200: json('The person is deleted.', z.object({ key: z.string(), id: z.string(), deleted: z.literal(true) })) },
  },
} satisfies RouteDescriptions;
