import { z } from 'zod';
import { responseShape } from '../../dialects/responses/responses-description.ts';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { serverSentEvent } from '../../description/shared-schemas.ts';
import { inputItemsQuery, responseQuery } from './stored-responses.ts';

const params = { id: 'The id of the stored response.' };
const itemShape = z.looseObject({ id: z.string(), type: z.string() });

export const storedResponseDescriptions = {
  'GET /v1/responses/:id': {
    tag: 'Stored chats',
    summary: 'One stored response',
    description:
      'Works while the response still runs in the background. With `stream`, sends its events as server-sent events: those so far, then new ones.',
    params,
    query: {
      schema: responseQuery,
      fields: {
        stream: 'Of a response that was requested with `background` and `stream`.',
        starting_after: 'The sequence number of the last event that is known already.',
      },
    },
    answers: {
      200: {
        about: 'It, or its events.',
        content: { 'application/json': responseShape, 'text/event-stream': serverSentEvent },
      },
    },
  },
  'GET /v1/responses/:id/input_items': {
    tag: 'Stored chats',
    summary: 'The input of a stored response',
    description: 'The items of its input, those of the responses that it builds on included.',
    params,
    query: {
      schema: inputItemsQuery,
      fields: { limit: 'Items of a page.', order: 'By time.', after: 'The id of the last item of the page before.' },
    },
    answers: {
      200: json(
        'A page of items.',
        z.object({
          object: z.literal('list'),
          data: z.array(itemShape),
          first_id: z.string().nullable(),
          last_id: z.string().nullable(),
          has_more: z.boolean(),
        }),
      ),
    },
  },
  'POST /v1/responses/:id/cancel': {
    tag: 'Stored chats',
    summary: 'Cancel a response in the background',
    description: 'One that has ended stays as it is.',
    params,
    answers: { 200: json('The response as it is then.', responseShape) },
  },
  'DELETE /v1/responses/:id': {
    tag: 'Stored chats',
    summary: 'Delete a stored response',
    description: 'A background run is cancelled. Responses that build on this one can no longer be continued.',
    params,
    answers: {
      200: json('It is gone.', z.object({ object: z.literal('response'), id: z.string(), deleted: z.literal(true) })),
    },
  },
} satisfies RouteDescriptions;
