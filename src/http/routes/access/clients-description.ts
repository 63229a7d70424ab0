import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { deletedShape, isoTime } from '../../description/shared-schemas.ts';
import { listQuery, listQueryFields, nextShape } from '../list-page.ts';

const authorizationShape = z.object({
  caller: z.string().describe('The id of the key, or of the key and the person behind it, who has agreed.'),
  created: isoTime,
  last_used: isoTime.nullable().describe('To the minute; null before its first use.'),
  expires: isoTime.describe('When the person has to agree again.'),
});

const clientShape = z
  .object({
    id: z.string(),
    client_id: z.string().describe('An address for a program with a client metadata document.'),
    name: z.string().nullable().describe('As the program calls itself. Nobody has checked it.'),
    redirect_hosts: z.array(z.string()).describe('Where answers of the consent page go.'),
    last_used: isoTime.nullable(),
    authorizations: z
      .array(authorizationShape)
      .describe('Empty for a program that has registered and nobody has agreed to, which ends after a day.'),
  })
  .meta({ id: 'Client', description: 'A program that uses /mcp with access that people have given it.' });
export type ClientWire = z.infer<typeof clientShape>;

export const clientDescriptions = {
  'GET /api/clients': {
    tag: 'Tools',
    summary: 'List the programs that are connected to /mcp',
    description:
      'Programs that people have allowed to use their tools, by OAuth. Administrators see those of everybody, and programs that have only registered.',
    query: { schema: listQuery, fields: listQueryFields },
    answers: { 200: json('The programs, newest first.', z.object({ data: z.array(clientShape), next: nextShape })) },
  },
  'DELETE /api/clients/:id': {
    tag: 'Tools',
    summary: 'Disconnect a program',
    description:
      'Ends its tokens and open streams at once. Administrators disconnect it for everybody and delete its registration; others end only their own access.',
    params: { id: 'The id of the program in the list.' },
    answers: { 200: json('It is disconnected.', deletedShape) },
  },
} satisfies RouteDescriptions;
