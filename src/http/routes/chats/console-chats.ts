import { createHash } from 'node:crypto';
import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import { GatewayError } from '../../../core/errors.ts';
import type { NoteStore } from '../../../core/stores/note-store.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { parseInput } from '../../parse-input.ts';
import { sendPieces } from '../send-in-slices.ts';
import { ConsoleChats } from './console-chat-notes.ts';

interface ConsoleChatRouteOptions {
  store: NoteStore;
  /** `CONSOLE_CHATS`. */
  isStoring: boolean;
  /** Milliseconds since 1970. */
  now: () => number;
}

type WithId = { Params: { id: string } };

/** The chats of the console on the server. Every caller sees only their own, even an administrator. */
export const consoleChatRoutes: FastifyPluginAsync<ConsoleChatRouteOptions> = async (app, { store, isStoring, now }) => {
  const chats = new ConsoleChats(store, now);

  app.get('/api/console/chats', async ({ caller }) => ({
    is_stored: isStoring,
    owner: createHash('sha256').update(caller.id).digest('base64url').slice(0, 16),
    data: isStoring ? (await chats.list(caller.id)).map(toListed) : [],
  }));

  app.get('/api/console/chats/export', async ({ caller }, reply) => {
    requireStoring();
    reply.header('content-disposition', 'attachment; filename="chats.json"');
    return sendPieces(reply, chats.export(caller.id));
  });

  app.get<WithId>('/api/console/chats/:id', async ({ caller, params: { id } }) => {
    requireStoring();
    return { id, ...(await chats.require(caller.id, id)) };
  });

  app.put<WithId>('/api/console/chats/:id', async ({ caller, params: { id }, body }) => {
    requireStoring();
    const { chat, revision: base } = parseInput(consoleChatBody, body);
    const { title, updated, isPinned = false } = chat;
    const written = { ...chat, id } as unknown as JsonObject;
    const revision = await chats.save(caller.id, { chat: written, listed: { id, title, updated, isPinned }, base });
    return { id, revision };
  });

  app.delete<WithId>('/api/console/chats/:id', async ({ caller, params: { id } }) => {
    requireStoring();
    await chats.delete(caller.id, id);
    return { id, deleted: true };
  });

  /** @throws GatewayError `not_found` */
  function requireStoring(): void {
    if (!isStoring)
      throw new GatewayError('not_found', 'Chats of the console are stored in browsers only. Set CONSOLE_CHATS=true to store them here.');
  }
};

function toListed({ id, title, updated, isPinned, revision }: Awaited<ReturnType<ConsoleChats['list']>>[number]) {
  return { id, title, updated, is_pinned: isPinned, revision };
}

export const consoleChatBody = z.object({
  chat: z.looseObject({
    title: z.string().max(300),
    updated: z.number(),
    isPinned: z.boolean().optional(),
    messages: z.record(z.string(), z.looseObject({ role: z.enum(['user', 'assistant']) })),
  }),
  revision: z.number().int().min(1).optional(),
});
