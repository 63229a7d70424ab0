import { z } from 'zod';
import { completionShape } from '../../dialects/chat-completions/chat-completions-description.ts';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { chatQuery, messageQuery } from './stored-chats.ts';

const metadata = z.record(z.string(), z.string());
const storedShape = completionShape.extend({ metadata }).meta({ id: 'StoredChat' });
const messageShape = z
  .looseObject({
    id: z.string(),
    role: z.string(),
    content: z.string().nullable().describe('The text.'),
    content_parts: z
      .array(z.looseObject({ type: z.string() }))
      .nullable()
      .describe('The parts as they were sent.'),
  })
  .meta({ id: 'StoredMessage' });

const pageOf = (entry: z.ZodType): z.ZodType =>
  z.object({
    object: z.literal('list'),
    data: z.array(entry),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });

const params = { id: 'The id of the stored completion.' };
const paging = { limit: 'Entries of a page.', order: 'By time.', after: 'The id of the last entry of the page before.' };

export const storedChatDescriptions = {
  'GET /v1/chat/completions': {
    tag: 'Stored chats',
    summary: 'List your stored chats',
    query: {
      schema: chatQuery,
      fields: { ...paging, model: 'Only chats with this model.' },
      maps: { metadata: 'Only chats with these entries, as `metadata[topic]=kitchen`.' },
    },
    answers: { 200: json('A page of chats.', pageOf(storedShape)) },
  },
  'GET /v1/chat/completions/:id': { tag: 'Stored chats', summary: 'One stored answer', params, answers: { 200: json('It.', storedShape) } },
  'GET /v1/chat/completions/:id/messages': {
    tag: 'Stored chats',
    summary: 'What was asked',
    params,
    query: { schema: messageQuery, fields: paging },
    answers: { 200: json('A page of messages.', pageOf(messageShape)) },
  },
  'POST /v1/chat/completions/:id': {
    tag: 'Stored chats',
    summary: 'Replace the metadata',
    params,
    body: { schema: z.looseObject({ metadata: metadata.nullable() }), fields: { metadata: 'At most 16 short texts.' } },
    answers: { 200: json('The chat as it is now.', storedShape) },
  },
  'DELETE /v1/chat/completions/:id': {
    tag: 'Stored chats',
    summary: 'Delete a stored chat',
    params,
    answers: {
      200: json('It is gone.', z.object({ object: z.literal('chat.completion.deleted'), id: z.string(), deleted: z.literal(true) })),
    },
  },
} satisfies RouteDescriptions;
