import { Readable } from 'node:stream';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { isContainer, isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

/** What is serialized in one tick of the event loop: little, because a schema may have been cut out of one of a megabyte. */
const sliceCharacters = 16 * 1024;
/** Levels whose members are serialized one by one: those of the answer, of a report in it, of the list of its functions. */
const slicedLevels = 3;

/**
 * Sends JSON that may have many megabytes, such as the schemas of all functions of a server, without stopping everything else: a member of a list is
 * read, and built if it is a getter, when its turn has come.
 */
export function sendInSlices(reply: FastifyReply, value: JsonObject): FastifyReply {
  return sendPieces(reply, slicesOf(value));
}

/** Sends JSON that comes in pieces. */
export function sendPieces(reply: FastifyReply, pieces: AsyncIterable<string> | Iterable<Uint8Array>): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(Readable.from(pieces, { objectMode: false }));
}

async function* slicesOf(value: JsonObject): AsyncGenerator<string> {
  let slice = '';
  for (const piece of piecesOf(value, slicedLevels)) {
    slice += piece;
    if (slice.length < sliceCharacters) continue;
    yield slice;
    slice = '';
    await nextTick();
  }
  yield slice;
}

function* piecesOf(value: JsonValue, levels: number): Generator<string> {
  if (levels === 0 || !isContainer(value)) {
    yield JSON.stringify(value);
    return;
  }
  let separator = '';
  if (isJsonObject(value)) {
    yield '{';
    for (const name of Object.keys(value)) {
      const member = value[name];
      if (member === undefined) continue;
      yield `${separator}${JSON.stringify(name)}:`;
      yield* piecesOf(member, levels - 1);
      separator = ',';
    }
    yield '}';
    return;
  }
  yield '[';
  for (const member of value) {
    yield separator;
    yield* piecesOf(member, levels - 1);
    separator = ',';
  }
  yield ']';
}
