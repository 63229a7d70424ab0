import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { consoleChatBody } from './console-chats.ts';

const params = { id: 'The id of the chat.' };
const revision = z.number().describe('Counts the writes of the chat.');
const listed = z.object({ id: z.string(), title: z.string(), updated: z.number(), is_pinned: z.boolean(), revision });

/** With `CONSOLE_CHATS=true`. */
export const consoleChatDescriptions = {
  'GET /api/console/chats': {
    tag: 'Stored chats',
    summary: 'List your chats of the console',
    answers: {
      200: json(
        'Yours, the newest first.',
        z.object({
          is_stored: z.boolean().describe('`CONSOLE_CHATS`.'),
          owner: z.string().describe('Tells your chats from those of others in the same browser.'),
          data: z.array(listed),
        }),
      ),
    },
  },
  'GET /api/console/chats/export': {
    tag: 'Stored chats',
    summary: 'All your chats of the console',
    answers: { 200: json('A file.', z.object({ chats: z.array(z.looseObject({ id: z.string() })) })) },
  },
  'GET /api/console/chats/:id': {
    tag: 'Stored chats',
    summary: 'One chat of the console',
    params,
    answers: { 200: json('It.', z.object({ id: z.string(), revision, chat: z.looseObject({ id: z.string() }) })) },
  },
  'PUT /api/console/chats/:id': {
    tag: 'Stored chats',
    summary: 'Store a chat of the console',
    params,
    body: {
      schema: consoleChatBody,
      fields: { chat: 'As the console has it.', revision: 'The revision that it builds on. Leave it out for a new chat. Otherwise a 409.' },
    },
    answers: { 200: json('Stored.', z.object({ id: z.string(), revision })) },
  },
  'DELETE /api/console/chats/:id': {
    tag: 'Stored chats',
    summary: 'Delete a chat of the console',
    params,
    answers: { 200: json('Deleted.', z.object({ id: z.string(), deleted: z.boolean() })) },
  },
} satisfies RouteDescriptions;
