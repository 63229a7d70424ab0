import { GatewayError } from '../../../core/errors.ts';
import type { ContentsPage } from '../../../core/tools/server-contents.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { readCursor, writeCursor, type ContentsPosition } from './contents-cursor.ts';

/** Resources, templates or prompts in one page of the gateway's own list: checking as many takes ten milliseconds. */
const mcpContentsPerPage = 500;
/** Pages of one MCP server in such a list, against one whose list never ends: ten thousand entries in pages of ten. */
const mcpContentsPages = 1_000;

/** One page of a server's own list. */
export interface OwnPage {
  entries: readonly JsonObject[];
  nextCursor?: string;
}

/** A server whose list is read page by page. */
interface ListedServer {
  id: string;
  /** An empty page where it cannot be had. */
  fetch(cursor: string | undefined): Promise<OwnPage>;
  convert(entries: readonly JsonObject[]): JsonObject[];
}

/** Pages of one server that one answer reads: one whose pages are empty costs no more. */
const pagesPerAnswer = 10;

/**
 * The lists of several servers as one. Nothing of them is kept between two pages: a server's list may be longer than what the gateway wants to hold
 * for it. @throws GatewayError `invalid_request` for a cursor that leads nowhere
 */
export async function listContents(servers: readonly ListedServer[], cursor: string | undefined): Promise<ContentsPage> {
  const position = cursor === undefined ? undefined : readCursor(cursor);
  const start = cursor === undefined ? 0 : servers.findIndex(({ id }) => id === position?.server);
  const [first, ...others] = servers.slice(Math.max(start, 0));
  if (start === -1) throw new GatewayError('invalid_request', 'The cursor is no longer valid. Request the list from its beginning.');
  if (first === undefined) return { items: [] };
  const beginning = await readOn(first, { from: position ?? beginningOf(first), room: mcpContentsPerPage });
  if (beginning.next !== undefined) return toPage(beginning.items, beginning.next);
  const { items } = beginning;
  // All at once, because one that is slow would hold up those after it.
  const rest = others.map((server) => ({ server, page: server.fetch(undefined) }));
  // Where the page ends before them, nobody waits for the last ones.
  for (const { page } of rest) page.catch(() => undefined);
  for (const { server, page } of rest) {
    const room = mcpContentsPerPage - items.length;
    if (room === 0) return toPage(items, beginningOf(server));
    const { items: more, next } = await readOn(server, { from: beginningOf(server), room, known: page });
    items.push(...more);
    if (next !== undefined) return toPage(items, next);
  }
  return { items };
}

/** A server's entries from a position on, as many as there is room for, and where to continue; undefined at its end. */
async function readOn(
  server: ListedServer,
  { from, room, known = server.fetch(from.cursor) }: { from: ContentsPosition; room: number; known?: Promise<OwnPage> },
): Promise<{ items: JsonObject[]; next?: ContentsPosition }> {
  const items: JsonObject[] = [];
  let position = from;
  let page = await known;
  for (let read = 1; ; read += 1) {
    const end = position.offset + room - items.length;
    items.push(...server.convert(page.entries.slice(position.offset, end)));
    if (page.entries.length > end) return { items, next: { ...position, offset: end } };
    const { nextCursor } = page;
    if (nextCursor === undefined || position.pages + 1 >= mcpContentsPages) return { items };
    position = { server: server.id, cursor: nextCursor, offset: 0, pages: position.pages + 1 };
    if (items.length === room || read === pagesPerAnswer) return { items, next: position };
    page = await server.fetch(nextCursor);
  }
}

function beginningOf({ id }: ListedServer): ContentsPosition {
  return { server: id, offset: 0, pages: 0 };
}

function toPage(items: JsonObject[], next: ContentsPosition): ContentsPage {
  const nextCursor = writeCursor(next);
  return { items, ...(nextCursor !== undefined && { nextCursor }) };
}
