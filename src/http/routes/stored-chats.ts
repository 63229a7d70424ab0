import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import type { Caller } from '../../core/caller.ts';
import { textOf } from '../../core/chat.ts';
import type { MessageContent } from '../../core/chat.ts';
import type { ChatPage, ChatPlace, ChatStore, ListedChat, StoredChat } from '../../core/chat-store.ts';
import { GatewayError } from '../../core/errors.ts';
import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import { FairMap } from '../../shared/fair-map.ts';
import { parseMetadata } from '../dialects/chat-completions/stored-completion.ts';
import { parseChatQuery, parseMessageQuery } from './parse-stored-chat-query.ts';

export interface StoredChatRouteOptions {
  store: ChatStore;
  /** `STORE_CHATS`, for messages: what was stored before it was turned off can be read and deleted as long as it is kept. */
  isStoring: boolean;
  callerOf(request: FastifyRequest): Caller;
}

type Params = { Params: { id: string } };

const sweepIntervalMs = 60 * 60 * 1000;
const longestShownId = 100;
/** Whoever deletes what a list shows goes on behind something that is not there any more. */
const rememberedPlaces = 1_000;

/**
 * The stored completions of OpenAI's API (`chat.completions.retrieve`, `list`, `update`, `delete`, `messages.list`). Everybody has only their
 * own, administrators too.
 */
export const storedChatRoutes: FastifyPluginCallback<StoredChatRouteOptions> = (app, options, done) => {
  const { store, isStoring } = options;
  const callerIdOf = (request: FastifyRequest): string => options.callerOf(request).id;
  const deleted = new FairMap<ChatPlace>({ entries: rememberedPlaces, characters: Infinity });
  let sweep: NodeJS.Timeout | undefined;

  function missing(id: string): GatewayError {
    const cure = isStoring
      ? 'Chats that are sent with "store": true are kept for 30 days.'
      : 'This gateway stores none: an administrator can set STORE_CHATS=true.';
    return new GatewayError('not_found', `There is no stored chat completion ${id.slice(0, longestShownId)}. ${cure}`);
  }

  async function requireChat(callerId: string, id: string): Promise<StoredChat> {
    const chat = await store.find(callerId, id);
    if (chat === undefined) throw missing(id);
    return chat;
  }

  async function requirePlace(callerId: string, id: string): Promise<ChatPlace> {
    const place = deleted.get(`${callerId} ${id}`) ?? (await store.find(callerId, id));
    if (place !== undefined) return { id: place.id, created: place.created };
    const message = `after: there is no stored chat completion ${id.slice(0, longestShownId)}.`;
    throw new GatewayError('invalid_request', message, { param: 'after' });
  }

  function rememberPlace(callerId: string, place: ChatPlace): void {
    deleted.set(`${callerId} ${place.id}`, { owner: callerId, value: place, characters: place.id.length });
  }

  app.get('/v1/chat/completions', async (request) => {
    const callerId = callerIdOf(request);
    const { after, ...query } = parseChatQuery(request.query);
    const page: ChatPage = { ...query, after: after === undefined ? undefined : await requirePlace(callerId, after) };
    const { chats, hasMore } = await store.list(callerId, page);
    return toList(chats.map(toWire), hasMore);
  });

  app.get<Params>('/v1/chat/completions/:id', async (request) => toWire(await requireChat(callerIdOf(request), request.params.id)));

  app.get<Params>('/v1/chat/completions/:id/messages', async (request) => {
    const { limit, order, after } = parseMessageQuery(request.query);
    const { id, messages } = await requireChat(callerIdOf(request), request.params.id);
    const wired = messages.map((message, index) => toWireMessage(message, `${id}-${index}`));
    const ordered = order === 'asc' ? wired : wired.toReversed();
    const last = after === undefined ? -1 : ordered.findIndex((message) => message.id === after);
    if (after !== undefined && last < 0)
      throw new GatewayError('invalid_request', `after: this chat has no message ${after.slice(0, longestShownId)}.`, { param: 'after' });
    const rest = ordered.slice(last + 1);
    return toList(rest.slice(0, limit), rest.length > limit);
  });

  app.post<Params>('/v1/chat/completions/:id', async (request) => {
    const callerId = callerIdOf(request);
    const { id } = request.params;
    const { body } = request;
    const metadata = parseMetadata(isJsonObject(body) ? body['metadata'] : undefined);
    if (!(await store.changeMetadata(callerId, id, metadata))) throw missing(id);
    return toWire(await requireChat(callerId, id));
  });

  app.delete<Params>('/v1/chat/completions/:id', async (request) => {
    const callerId = callerIdOf(request);
    const { id } = request.params;
    const place = await store.delete(callerId, id);
    if (place === undefined) throw missing(id);
    rememberPlace(callerId, place);
    return { object: 'chat.completion.deleted', id, deleted: true };
  });

  // Also where nothing new is stored: what was has to go in its time.
  function prune(): void {
    store.prune().catch((error: unknown) => app.log.error({ err: error }, 'stored chats that are too old could not be deleted'));
  }
  app.addHook('onListen', async () => {
    prune();
    sweep = setInterval(prune, sweepIntervalMs);
    sweep.unref();
  });
  app.addHook('onClose', async () => clearInterval(sweep));
  done();
};

function toWire({ completion, metadata }: Pick<ListedChat, 'completion' | 'metadata'>): JsonObject & { id?: unknown } {
  return { ...completion, metadata };
}

/** The fields of OpenAI's stored message: `content` is a text, the parts it was sent as stand beside it. */
function toWireMessage(message: JsonObject, id: string): JsonObject & { id: string } {
  const content = message['content'] ?? null;
  const parts = Array.isArray(content) ? content : null;
  return { name: null, ...message, id, content: parts === null ? content : textOf(parts as MessageContent), content_parts: parts };
}

function toList(data: (JsonObject & { id?: unknown })[], hasMore: boolean): JsonObject {
  const idOf = (entry: JsonObject | undefined): string | null => (typeof entry?.['id'] === 'string' ? entry['id'] : null);
  return { object: 'list', data, first_id: idOf(data[0]), last_id: idOf(data.at(-1)), has_more: hasMore };
}
