import type { OutboundResponse } from '../../core/outbound.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import { GeneratedBody } from './generated-body.ts';

/** JSON, or server-sent events; undefined: neither. */
type AnswerKind = 'json' | 'events' | undefined;

/** Bytes that are looked at; white space may come first. */
const examinedBytes = 1024;
const event = /^(?:(?:data|event|id|retry) ?:|:)/u;
/** A part of a streamed answer; quotes within strings have a backslash before them. */
const chunk = /"object"\s*:\s*"chat\.completion\.chunk"|"delta"\s*:/u;
/** Shorter texts may be the beginning of a field name. */
const decisiveCharacters = 'retry :'.length;

/** What the content type says; undefined if it says nothing of use. */
function kindByType({ headers }: OutboundResponse): AnswerKind {
  const type = (headers['content-type'] ?? '').toLowerCase();
  if (type.includes('text/event-stream')) return 'events';
  return /^application\/(?:[\w.-]+\+)?json\b/u.test(type.trim()) ? 'json' : undefined;
}

/**
 * What an answer is, by its content type, or by its first bytes if that is missing or of another kind: servers and proxies send both as `text/plain`.
 * Where events were asked for, JSON is examined too: lines of chunks count as events. What is read to find out is in the body of the returned answer.
 */
export function findKind(response: OutboundResponse, expected?: 'events'): MaybePromise<{ kind: AnswerKind; response: OutboundResponse }> {
  const kind = kindByType(response);
  return kind === undefined || (kind === 'json' && expected === 'events')
    ? examine(response, { stated: kind, expected })
    : { kind, response };
}

async function examine(
  response: OutboundResponse,
  { stated, expected }: { stated: AnswerKind; expected: 'events' | undefined },
): Promise<{ kind: AnswerKind; response: OutboundResponse }> {
  const { body } = response;
  const pieces = body[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let text = '';
  let isEnded = false;
  while (!isEnded && sizeOf(read) < examinedBytes && !isDecided(text, expected)) {
    const next = await pieces.next();
    if (next.done === true) isEnded = true;
    else read.push(next.value);
    text = new TextDecoder().decode(Buffer.concat(read)).trimStart();
  }
  const replayed = isEnded ? replay(read) : replay(read, pieces);
  return { kind: kindOfText(text, expected) ?? stated, response: { ...response, body: new GeneratedBody(replayed, body) } };
}

/** Whether chunks stand on its lines is decided by the first one. */
function isDecided(text: string, expected: 'events' | undefined): boolean {
  if (text.length < decisiveCharacters) return false;
  return expected === undefined || !/^[{[]/u.test(text) || text.includes('\n') || chunk.test(text);
}

function kindOfText(text: string, expected: 'events' | undefined): AnswerKind {
  if (expected === 'events' && /^[{[]/u.test(text) && chunk.test(text)) return 'events';
  if (text.startsWith('{') || text.startsWith('[')) return 'json';
  return event.test(text) ? 'events' : undefined;
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

async function* replay(read: readonly Uint8Array[], rest?: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  yield* read;
  for (let next = await rest?.next(); next !== undefined && next.done !== true; next = await rest?.next()) yield next.value;
}
