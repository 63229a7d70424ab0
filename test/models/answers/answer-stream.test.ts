import { describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import { emitAnswer, upstreamSliceBytes } from '../../../src/models/answers/answer-stream.ts';
import type { AnswerStream } from '../../../src/models/answers/answer-stream.ts';
import type { Emit } from '../../../src/shared/async/emit.ts';
import { outboundBody } from '../../_support/outbound-body.ts';

/** Each byte is a character of text; `.` ends the answer, and `!` is a fault. */
class Letters implements AnswerStream {
  isDone = false;
  fault: unknown;

  read(piece: Uint8Array): ModelEvent[] {
    const text = new TextDecoder().decode(piece);
    this.isDone = text.includes('.');
    if (text.includes('!')) this.fault = new Error('broken');
    return [{ type: 'text', text }];
  }

  end(failure: unknown): ModelEvent[] {
    this.fault = failure;
    return [{ type: 'finish', reason: 'stop' }];
  }
}

async function* bodyOf(...pieces: (string | Error | Promise<void>)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece;
    if (typeof piece === 'string') yield new TextEncoder().encode(piece);
    else await piece;
  }
}

/** The batches that are emitted, and the failure that ends them. */
async function read(pieces: AsyncIterable<Uint8Array>, emit: Emit<ModelEvent> = () => undefined) {
  const batches: string[] = [];
  const body = outboundBody(pieces);
  const watched: Emit<ModelEvent> = (events) => {
    batches.push(events.map((event) => (event.type === 'text' ? event.text : event.type)).join(','));
    return emit(events);
  };
  const failure: unknown = await emitAnswer(new Letters(), { body, emit: watched }).catch((error: unknown) => error);
  return { batches, isClosed: body.isClosed, failure };
}

describe('a streamed answer', () => {
  it('is emitted in one batch for each piece of its bytes', async () => {
    expect(await read(bodyOf('ab', 'c'))).toEqual({ batches: ['ab', 'c', 'finish'], isClosed: false, failure: undefined });
  });

  it('ends where it says so, and its connection is kept where the body ends soon', async () => {
    expect(await read(bodyOf('a.', 'b', new Error('cut')))).toEqual({ batches: ['a.'], isClosed: false, failure: undefined });
  });

  it('closes the connection where the body does not end', async () => {
    const { promise: never } = Promise.withResolvers<void>();
    expect(await read(bodyOf('a.', never))).toMatchObject({ batches: ['a.'], isClosed: true, failure: undefined });
  });

  it('is emitted up to a fault', async () => {
    expect(await read(bodyOf('a', 'b!', 'c'))).toMatchObject({ batches: ['a', 'b!'], failure: { message: 'broken' } });
    const failure = new Error('cut');
    expect(await read(bodyOf('a', failure))).toEqual({ batches: ['a', 'finish'], isClosed: false, failure });
  });

  it('is not read on while the reader is slow, and ends with what the reader throws', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let pieces = 0;
    async function* counted(): AsyncGenerator<Uint8Array> {
      for (; pieces < 3; pieces += 1) yield new TextEncoder().encode('a');
    }
    const reading = read(counted(), () => promise);
    await new Promise((next) => setImmediate(next));
    expect(pieces).toBe(0);
    resolve();
    expect(await reading).toMatchObject({ batches: ['a', 'a', 'a', 'finish'] });
    const full = new Error('full');
    const failing: Emit<ModelEvent> = () => {
      throw full;
    };
    expect(await read(bodyOf('a', 'b'), failing)).toMatchObject({ batches: ['a'], failure: full });
  });

  it('of a large piece is emitted in several turns of the event loop', async () => {
    let turns = 0;
    const count = (): void => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const { batches } = await read(bodyOf('a'.repeat(4 * upstreamSliceBytes)));
    clearImmediate(next);
    expect(batches).toHaveLength(5);
    expect(turns).toBeGreaterThanOrEqual(3);
  });
});
