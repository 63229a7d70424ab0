import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import { textOf, type MessageContent } from '../../../core/chat/chat.ts';
import type { ChatPlace, ChatStore, ListedChat, StoredChat } from '../../../core/stores/chat-store.ts';
import { GatewayError, invalidField, shownId } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { FairMap } from '../../../shared/fairness/fair-map.ts';
import { parseMetadata } from '../../dialects/chat-completions/store-completions.ts';
import { parseInput } from '../../parse-input.ts';
import { pageLimit } from '../page-limit.ts';

/** Stored chats, or messages of one, in one page. */
export const chatsPerPage = 100;

interface StoredChatRouteOptions {
  store: ChatStore;
  /** `STORE_CHATS`, for error messages only: chats stored before it was turned off can still be read and deleted. */
  isStoring: boolean;
}

type WithId = { Params: { id: string } };

const sweepIntervalMs = 60 * 60 * 1000;
/** Positions of deleted chats: a client that deletes each chat of a page requests the next page `after` a chat that is gone. */
const rememberedPositions = 1_000;

/**
 * The stored completions of OpenAI's API (`chat.completions.retrieve`, `list`, `update`, `delete`, `messages.list`). Every caller sees only their
 * own, even an administrator.
 */
export const storedChatRoutes: FastifyPluginAsync<StoredChatRouteOptions> = async (app, { store, isStoring }) => {
  const deleted = new FairMap<ChatPlace>({ entries: rememberedPositions, characters: Infinity });

  app.get('/v1/chat/completions', async (request) => {
    const { id: callerId } = request.caller;
    const { after, limit, order, model } = parseInput(chatQuery, request.query);
    const metadata = metadataIn(request.query);
    const last = after === undefined ? undefined : await requirePosition(callerId, after);
    const { chats, hasMore } = await store.list(callerId, { limit, order, after: last, model, metadata });
    return toList(chats.map(toWire), hasMore);
  });

  app.get<WithId>('/v1/chat/completions/:id', async ({ caller, params }) => toWire(await requireChat(caller.id, params.id)));

  app.get<WithId>('/v1/chat/completions/:id/messages', async (request) => {
    const { limit, order, after } = parseInput(messageQuery, request.query);
    const { id, messages } = await requireChat(request.caller.id, request.params.id);
    const wired = messages.map((message, index) => toWireMessage(message, `${id}-${index}`));
    const ordered = order === 'asc' ? wired : wired.toReversed();
    const last = after === undefined ? -1 : ordered.findIndex((message) => message.id === after);
    if (after !== undefined && last < 0) throw unknownAfter(`this chat has no message ${shownId(after)}`);
    const rest = ordered.slice(last + 1);
    return toList(rest.slice(0, limit), rest.length > limit);
  });

  app.post<WithId>('/v1/chat/completions/:id', async ({ caller, params, body }) => {
    const metadata = parseMetadata(isJsonObject(body) ? body['metadata'] : undefined);
    if (!(await store.changeMetadata(caller.id, params.id, metadata))) throw missing(params.id);
    return toWire(await requireChat(caller.id, params.id));
  });

  app.delete<WithId>('/v1/chat/completions/:id', async ({ caller, params: { id } }) => {
    const position = await store.delete(caller.id, id);
    if (position === undefined) throw missing(id);
    deleted.set(placeOf(caller.id, id), { owner: caller.id, value: position, characters: id.length });
    return { object: 'chat.completion.deleted', id, deleted: true };
  });

  // Also when STORE_CHATS is off: chats stored before have to be deleted when they are too old.
  function prune(): void {
    store.prune().catch((error: unknown) => app.log.error({ err: error }, 'expired stored chats could not be deleted'));
  }
  let sweep: NodeJS.Timeout | undefined;
  app.addHook('onListen', async () => {
    prune();
    sweep = setInterval(prune, sweepIntervalMs).unref();
  });
  app.addHook('onClose', async () => clearInterval(sweep));

  async function requireChat(callerId: string, id: string): Promise<StoredChat> {
    const chat = await store.find(callerId, id);
    if (chat === undefined) throw missing(id);
    return chat;
  }

  async function requirePosition(callerId: string, id: string): Promise<ChatPlace> {
    const chat = deleted.get(placeOf(callerId, id)) ?? (await store.find(callerId, id));
    if (chat === undefined) throw unknownAfter(`there is no stored chat completion ${shownId(id)}`);
    return { id: chat.id, created: chat.created };
  }

  function missing(id: string): GatewayError {
    const cure = isStoring
      ? 'Chats that are sent with "store": true are kept for 30 days.'
      : 'This gateway stores none: an administrator can set STORE_CHATS=true.';
    return new GatewayError('not_found', `There is no stored chat completion ${shownId(id)}. ${cure}`);
  }
};

/** Ids of people may hold whatever stands between two ids. */
function placeOf(callerId: string, id: string): string {
  return JSON.stringify([callerId, id]);
}

function unknownAfter(problem: string): GatewayError {
  return invalidField('after', `${problem}.`);
}

function toWire({ completion, metadata }: Pick<ListedChat, 'completion' | 'metadata'>): JsonObject & { id?: unknown } {
  return { ...completion, metadata };
}

/** OpenAI's shape of a stored message: `content` is text, and `content_parts` has the parts as they were sent. */
function toWireMessage(message: JsonObject, id: string): JsonObject & { id: string } {
  const content = message['content'] ?? null;
  const parts = Array.isArray(content) ? content : null;
  return { name: null, ...message, id, content: parts === null ? content : textOf(parts as MessageContent), content_parts: parts };
}

function toList(data: (JsonObject & { id?: unknown })[], hasMore: boolean): JsonObject {
  const idOf = (entry: JsonObject | undefined): string | null => (typeof entry?.['id'] === 'string' ? entry['id'] : null);
  return { object: 'list', data, first_id: idOf(data[0]), last_id: idOf(data.at(-1)), has_more: hasMore };
}

/** OpenAI's default. */
const defaultLimit = 20;

export const messageQuery = z.object({
  limit: pageLimit(chatsPerPage).default(defaultLimit),
  order: z.enum(['asc', 'desc'], 'must be asc or desc').default('asc'),
  /** The id of the last entry of the previous page. */
  after: z.string().max(256).optional(),
});
export const chatQuery = messageQuery.extend({ model: z.string().max(256).optional() });

/** Reads `metadata[key]=value` of a query, one for each entry that a chat must have. @throws GatewayError `invalid_request` */
function metadataIn(query: unknown): Record<string, string> {
  const fields = isJsonObject(query) ? Object.entries(query) : [];
  const entries = fields.flatMap(([name, text]) => {
    const key = /^metadata\[(?<key>.*)\]$/s.exec(name)?.groups?.['key'];
    return key === undefined ? [] : [[key, text] as const];
  });
  return parseMetadata(Object.fromEntries(entries));
}
