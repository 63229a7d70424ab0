import { describe, expect, test } from 'vitest';
import { boundedStream } from '../../../src/tools/mcp/transports/bounded-stream.ts';
import type { Framing, StreamEnd } from '../../../src/tools/mcp/transports/bounded-stream.ts';

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text);
}

async function read(texts: string[], framing: Framing = 'events'): Promise<{ text: string; end: StreamEnd | undefined }> {
  let end: StreamEnd | undefined;
  let text = '';
  const options = { maxBytes: 20, framing, onEnd: (how: StreamEnd) => void (end = how) };
  for await (const piece of boundedStream(pieces(...texts), options)) text += new TextDecoder().decode(piece);
  return { text, end };
}

describe('a bounded stream', () => {
  test('passes any number of events on', async () => {
    const events = Array.from({ length: 50 }, () => 'data: 1\r\n\r\n');
    expect((await read(events)).text).toBe(events.join(''));
  });

  test.each<[string, string[], Framing]>([
    ['an event without end', ['data: 1\n', 'data: 2\n', 'data: 3\n'], 'events'],
    ['a line without end', ['data: 1234567890', '1234567890'], 'events'],
    ['a body that is no stream of events', ['1234567890\n\n', '1234567890'], 'body'],
    ['a line of a pipe without end', ['1\n', '1234567890', '12345678901'], 'lines'],
  ])('ends at %s', async (_name, texts, framing) => {
    await expect(read(texts, framing)).rejects.toThrow('more than 20 bytes');
  });

  test.each([
    ['id: 1\ndata: 2\n\n', true],
    ['data: 2\nid: 1\n\n', true],
    ['data: id: 1\n\n', false],
    ['data: 2\n\n', false],
    ['idle: 2\n\n', false],
  ])('knows whether %j can be taken up again', async (text, isResumable) => {
    expect((await read([text])).end).toEqual({ isResumable });
    expect((await read(text.split(''))).end).toEqual({ isResumable });
  });

  test.each<[string, string[], Framing]>([
    ['an event of many values', ['data: [[],[],', '[],[],[]]\n\n'], 'events'],
    ['the same with more behind it', ['data: {"a":[1,2,3,4,5,6,7,8,9]}\n\ndata: 1\n\n'], 'events'],
    ['a body of many values', ['[[],[],[],', '[],[]]'], 'body'],
    ['a line of many values', ['[1]\n[[],[],[],', '[],[]]\n'], 'lines'],
  ])('ends at %s', async (_name, texts, framing) => {
    const all = Array.fromAsync(boundedStream(pieces(...texts), { framing, maxValues: 8 }));
    await expect(all).rejects.toThrow('more than 8 values');
  });

  test.each([
    ['in several events', 'data: [1,2,3,4]\n\ndata: [1,2,3,4]\n\n'],
    ['in texts', String.raw`data: "[[[[,,,,\"[[[[,,,,"` + '\n\n'],
    ['behind a comment with half a quotation', ': it"s\ndata: [1,2]\n\n'],
  ])('lets values pass %s', async (_name, text) => {
    const all = await Array.fromAsync(boundedStream(pieces(text), { framing: 'events', maxValues: 8 }));
    expect(Buffer.concat(all).toString()).toBe(text);
  });

  test('lets any number of lines pass, each within the limits', async () => {
    const lines = '[1,2,3,4]\n'.repeat(50);
    const all = await Array.fromAsync(boundedStream(pieces(lines), { framing: 'lines', maxBytes: 20, maxValues: 8 }));
    expect(Buffer.concat(all).toString()).toBe(lines);
  });

  test('passes many events on in several turns of the event loop, and a few in one', async () => {
    const turnsFor = async (events: number): Promise<number> => {
      let turns = 0;
      const count = (): void => {
        turns += 1;
        next = setImmediate(count);
      };
      let next = setImmediate(count);
      const text = 'data: 1\n\n'.repeat(events);
      const all = await Array.fromAsync(boundedStream(pieces(text), { framing: 'events', messagesPerTurn: 10 }));
      clearImmediate(next);
      expect(Buffer.concat(all).toString()).toBe(text);
      return turns;
    };
    expect(await turnsFor(9)).toBe(0);
    expect(await turnsFor(500)).toBeGreaterThanOrEqual(49);
  });
});
