import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { ServerSentEventReader } from '../../../src/models/transport/read-server-sent-events.ts';
import type { ServerSentEvent } from '../../../src/models/transport/read-server-sent-events.ts';
import { cutAt } from '../../_support/model-answers.ts';

async function* inTurn(pieces: Uint8Array[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const piece of pieces) yield await Promise.resolve(piece);
}

/** As a backend reads a stream; no empty batches. */
async function* readServerSentEvents(body: AsyncIterable<Uint8Array>, maxLineBytes: number): AsyncGenerator<ServerSentEvent[]> {
  const reader = new ServerSentEventReader(maxLineBytes);
  for await (const piece of body) {
    const batch = reader.read(piece);
    if (batch.length > 0) yield batch;
    if (reader.isTooLong) throw new GatewayError('upstream_line_too_long', 'Too long.');
  }
  const rest = reader.end();
  if (rest.length > 0) yield rest;
}

/** What was read before the end or the error, and the error's code. */
async function read(pieces: Uint8Array[], maxLineBytes = 1024): Promise<{ events: [string | undefined, string][]; code: unknown }> {
  const events: [string | undefined, string][] = [];
  try {
    for await (const batch of readServerSentEvents(inTurn(pieces), maxLineBytes)) {
      for (const event of batch) events.push([event.name, event.data]);
    }
  } catch (error) {
    return { events, code: error instanceof Error && 'code' in error ? error.code : error };
  }
  return { events, code: undefined };
}

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('ServerSentEventReader', () => {
  it.each([
    ['line feeds', 'data: a\n\ndata: b\n\n'],
    ['carriage returns with line feeds', 'data: a\r\n\r\ndata: b\r\n\r\n'],
    ['carriage returns', 'data: a\r\rdata: b\r\r'],
    ['a byte order mark', '\uFEFFdata: a\n\ndata: b\n\n'],
    ['no space after the colon', 'data:a\n\ndata:b\n\n'],
    ['comments and unknown fields', ': waiting\n\ndata: a\n\n: waiting\nnonsense\nretry: soon\ndata: b\n\n'],
    ['a last event without its blank line', 'data: a\n\ndata: b'],
  ])('reads %s', async (_, text) => {
    expect((await read([bytes(text)])).events.map(([, data]) => data)).toEqual(['a', 'b']);
  });

  it('joins the data lines of one event and keeps its name', async () => {
    expect((await read([bytes('event: error\ndata: {"a":\ndata: 1}\n\n')])).events).toEqual([['error', '{"a":\n1}']]);
  });

  it('marks what the end of the stream cut off', async () => {
    const seen: boolean[] = [];
    for await (const batch of readServerSentEvents(inTurn([bytes('data: a\n\ndata: {"b')]), 99))
      for (const event of batch) seen.push(event.isUnfinished);
    expect(seen).toEqual([false, true]);
  });

  it('gives together what arrived together', async () => {
    const sizes: number[] = [];
    for await (const batch of readServerSentEvents(inTurn([bytes('data: a\n\ndata: b\n\nda'), bytes('ta: c'), bytes('\n\n')]), 99))
      sizes.push(batch.length);
    expect(sizes).toEqual([2, 1]);
  });

  it('turns invalid UTF-8 into replacement characters', async () => {
    const broken = Buffer.concat([bytes('data: '), Buffer.from([0xff, 0xfe]), bytes('!\n\n')]);
    expect((await read([broken])).events).toEqual([[undefined, '\uFFFD\uFFFD!']]);
  });

  it('gives the same events for every cut, every kind of line end and every character', async () => {
    const text =
      '\uFEFF: hi\r\nevent: x\r\ndata: Zürich 🕑\r\n\r\ndata: one\rdata: two\r\rdata: {"q":"\\"𐍈\\""}\n\ndata:\n\ndata: [DONE]\n\n';
    const whole = await read([bytes(text)]);
    expect(whole.events).toHaveLength(5);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(), { maxLength: 40 }), async (offsets) => {
        expect(await read(cutAt(bytes(text), offsets))).toEqual(whole);
      }),
      { numRuns: 300 },
    );
    expect(await read(Array.from(bytes(text), (byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  it.each([
    ['data', `data: ${'x'.repeat(60)}`],
    ['a comment', `:${'x'.repeat(70)}`],
    ['no field at all', 'x'.repeat(70)],
    ['multi-byte characters', `data: ${'é'.repeat(30)}`],
  ])('refuses a too long line of %s wherever it is cut, after the events before it', async (_, line) => {
    const text = bytes(`data: a\n\n${line}\n\ndata: b\n\n`);
    for (let offset = 0; offset <= text.byteLength; offset += 1) {
      expect(await read(cutAt(text, [offset]), 64)).toEqual({ events: [[undefined, 'a']], code: 'upstream_line_too_long' });
    }
  });

  it('takes a line of exactly the limit', async () => {
    expect((await read([bytes(`data: ${'x'.repeat(58)}\r\n\r\n`)], 64)).events).toHaveLength(1);
  });

  it('takes any number of lines below the limit, wherever they are cut', async () => {
    const text = bytes('data: xxxxxxxxxxxxxxxxxxxx\n\n: hi\r\n'.repeat(20));
    for (let size = 1; size < 40; size += 1) {
      const offsets = Array.from({ length: Math.floor(text.byteLength / size) }, (_, index) => index * size);
      expect(await read(cutAt(text, offsets), 32)).toMatchObject({ code: undefined, events: { length: 20 } });
    }
  });

  it('refuses an event that grows by many short lines', async () => {
    expect((await read([bytes('data: xxxxxxxx\n'.repeat(20))], 64)).code).toBe('upstream_line_too_long');
  });

  it('stops reading a line without end soon after the limit', async () => {
    let given = 0;
    async function* endless(): AsyncGenerator<Uint8Array, void, undefined> {
      // An end all the same, or a reader without a limit would hang the tests instead of failing them.
      while (given < 1_000_000) {
        given += 1000;
        yield await Promise.resolve(Buffer.alloc(1000, 'x'));
      }
    }
    await expect(async () => {
      for await (const _ of readServerSentEvents(endless(), 10_000)) void _;
    }).rejects.toMatchObject({ code: 'upstream_line_too_long' });
    expect(given).toBe(11_000);
  });
});
