import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import { invalidField, shownId, type GatewayError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import type { StoredResponses } from '../../dialects/responses/stored/stored-responses.ts';
import { replayEvents } from '../../dialects/answers/replay-events.ts';
import { serverSentEvents } from '../../dialects/answers/server-sent-events.ts';
import { pageLimit } from '../page-limit.ts';
import { parseInput } from '../../parse-input.ts';
import { chatsPerPage } from './stored-chats.ts';

interface StoredResponseRouteOptions {
  stored: StoredResponses;
  stallMs: number;
}

type WithId = { Params: { id: string } };

const sweepIntervalMs = 60 * 60 * 1000;
/** The stored responses of OpenAI's API (`responses.retrieve`, `delete`, `cancel`, `inputItems.list`). Every caller sees only their own, even an administrator. */
export const storedResponseRoutes: FastifyPluginAsync<StoredResponseRouteOptions> = async (app, { stored, stallMs }) => {
  app.get<WithId>('/v1/responses/:id', async (request, reply) => {
    const { caller, params } = request;
    const { stream, starting_after: after = -1 } = parseInput(responseQuery, request.query);
    const response = await stored.read(caller, params.id);
    if (stream !== 'true') return response;
    const events = stored.background.eventsOf(caller, params.id);
    if (events !== undefined) return replayEvents(reply, (emit, signal) => events.follow(after, { emit, signal }), stallMs);
    if (response['status'] === 'in_progress') throw notStreaming();
    return reply.type(serverSentEvents.contentType).send(lastEventOf(response, after + 1));
  });

  app.get<WithId>('/v1/responses/:id/input_items', async (request) => {
    const { limit, order, after } = parseInput(inputItemsQuery, request.query);
    const items = await stored.readInput(request.caller, request.params.id);
    const ordered = order === 'asc' ? items : items.toReversed();
    const last = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after);
    if (after !== undefined && last < 0) {
      const shown = shownId(after);
      throw invalidField('after', `this response has no input item ${shown}.`);
    }
    const rest = ordered.slice(last + 1);
    const data = rest.slice(0, limit);
    const idOf = (item: JsonObject | undefined): JsonObject['id'] => item?.['id'] ?? null;
    return { object: 'list', data, first_id: idOf(data[0]), last_id: idOf(data.at(-1)), has_more: rest.length > limit };
  });

  app.post<WithId>('/v1/responses/:id/cancel', ({ caller, params: { id } }) => stored.cancel(caller, id));

  app.delete<WithId>('/v1/responses/:id', async ({ caller, params: { id } }) => {
    await stored.delete(caller, id);
    return { id, object: 'response', deleted: true };
  });

  // Also when STORE_CHATS is off: responses stored before have to be deleted when they are too old.
  function prune(): void {
    stored.prune().catch((error: unknown) => app.log.error({ err: error }, 'expired stored responses could not be deleted'));
  }
  let sweep: NodeJS.Timeout | undefined;
  app.addHook('onListen', async () => {
    prune();
    sweep = setInterval(prune, sweepIntervalMs).unref();
  });
  app.addHook('onClose', async () => clearInterval(sweep));
};

/** Of a response whose events are not kept any more. */
function lastEventOf(response: JsonObject, number: number): string {
  const { status } = response;
  const type = `response.${status === 'completed' || status === 'incomplete' ? status : 'failed'}`;
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, response })}\n\n`;
}

function notStreaming(): GatewayError {
  const cure = 'Ask for it without "stream" until its status is another, or send requests with "background": true and "stream": true.';
  return invalidField('stream', `this response was not requested as a stream. ${cure}`);
}

/** OpenAI's default. */
const defaultLimit = 20;
const notANumber = 'must be a whole number from 0';

/** Others of OpenAI's parameters change nothing here: a stored response has everything that `include` can ask for. */
export const responseQuery = z.object({
  stream: z.enum(['true', 'false'], 'must be true or false').optional(),
  /** The sequence number of the last event that the client has. */
  starting_after: z.coerce.number(notANumber).int(notANumber).min(0, notANumber).optional(),
});
export const inputItemsQuery = z.object({
  limit: pageLimit(chatsPerPage).default(defaultLimit),
  order: z.enum(['asc', 'desc'], 'must be asc or desc').default('desc'),
  /** The id of the last entry of the previous page. */
  after: z.string().max(256).optional(),
});
