import { z } from 'zod';
import { auditActions } from '../../../core/stores/audit-store.ts';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { isoTime } from '../../description/shared-schemas.ts';
import { auditQuery } from './audit.ts';

const callerShape = z.object({
  key: z.string().describe('The id of the key; `oidc` for a deleted person who signed in.'),
  user: z.string().nullable().describe('The id of the person behind the key; null for a key that is one caller, and for a deleted person.'),
});
const entryShape = z
  .object({
    id: z.string(),
    time: isoTime,
    by: callerShape,
    action: z.enum(auditActions),
    subject: z.string().nullable().describe('The id of what was changed, or the name of the function that was decided on.'),
    owner: callerShape.nullable().describe('Whose credential it is, if an administrator has deleted it.'),
    detail: z.looseObject({}).describe('Names of fields, functions and arguments, and ids of runs; never a value that may be secret.'),
  })
  .meta({ id: 'AuditEntry' });

export const auditDescriptions = {
  'GET /api/audit': {
    tag: 'Gateway',
    summary: 'Who changed and decided what',
    description: 'Newest first. Entries are kept for 90 days. What a deleted person did is shown as done by their key.',
    query: {
      schema: auditQuery,
      fields: {
        from: 'A day (UTC) or a time.',
        to: 'Likewise, included.',
        caller: 'The id of a key, with its people, or of one of them as `key/person`.',
        action: 'An action, or its part before the dot, such as `key`.',
        limit: 'Entries of a page.',
        after: 'The `next` of the page before.',
      },
    },
    answers: {
      200: json('A page of entries.', z.object({ data: z.array(entryShape), next: z.string().nullable() })),
    },
  },
} satisfies RouteDescriptions;
