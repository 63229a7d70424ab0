import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { deletedShape } from '../../description/shared-schemas.ts';
import { listQuery, listQueryFields, nextShape } from '../list-page.ts';
import { clientShape } from './clients.ts';

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
