import { ReadableStream } from 'node:stream/web';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundedStream } from '../../../src/tools/mcp/transports/bounded-stream.ts';
import type { Framing } from '../../../src/tools/mcp/incoming/normalise-stream.ts';
import type { StreamEnd } from '../../../src/tools/mcp/transports/bounded-stream.ts';

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
  it('passes any number of events on', async () => {
    const events = Array.from({ length: 50 }, () => 'data: 1\r\n\r\n');
    expect((await read(events)).text).toBe(events.join(''));
  });

  it.each<[string, string[], Framing]>([
    ['an event without end', ['data: 1\n', 'data: 2\n', 'data: 3\n'], 'events'],
    ['a line without end', ['data: 1234567890', '1234567890'], 'events'],
    ['a body that is no stream of events', ['1234567890\n\n', '1234567890'], 'body'],
    ['a line of a pipe without end', ['1\n', '1234567890', '12345678901'], 'lines'],
  ])('ends at %s', async (_name, texts, framing) => {
    await expect(read(texts, framing)).rejects.toThrow('more than 20 bytes');
  });

  it.each([
    ['id: 1\ndata: 2\n\n', true],
    ['data: 2\nid: 1\n\n', true],
    ['data: id: 1\n\n', false],
    ['data: 2\n\n', false],
    ['idle: 2\n\n', false],
  ])('knows whether %j can be taken up again', async (text, isResumable) => {
    expect((await read([text])).end).toEqual({ isResumable });
    expect((await read(text.split(''))).end).toEqual({ isResumable });
  });

  it.each<[string, string[], Framing]>([
    ['an event of many values', ['data: [[],[],', '[],[],[]]\n\n'], 'events'],
    ['the same with more behind it', ['data: {"a":[1,2,3,4,5,6,7,8,9]}\n\ndata: 1\n\n'], 'events'],
    ['a body of many values', ['[[],[],[],', '[],[]]'], 'body'],
    ['a line of many values', ['[1]\n[[],[],[],', '[],[]]\n'], 'lines'],
  ])('ends at %s', async (_name, texts, framing) => {
    const all = Array.fromAsync(boundedStream(pieces(...texts), { framing, maxValues: 8 }));
    await expect(all).rejects.toThrow('more than 8 values');
  });

  it.each<[string, (fields: string) => string, Framing]>([
    ['a message', (fields) => `{${fields}}`, 'body'],
    ['a line', (fields) => `{"a":[1]}\n{${fields}}\n`, 'lines'],
    ['a message of a batch', (fields) => `[{},{${fields}}]`, 'body'],
  ])('ends at %s of more than a hundred fields, and at none of many lists or messages', async (_name, write, framing) => {
    const fieldsOf = (count: number): string => Array.from({ length: count }, (_, index) => `"${index}":{"a":[1,2,3]}`).join(',');
    const readAll = (text: string): Promise<Uint8Array[]> => Array.fromAsync(boundedStream(pieces(text), { framing }));
    await expect(readAll(write(fieldsOf(101)))).rejects.toThrow('more than 100 fields');
    await readAll(write(fieldsOf(100)));
    await readAll(write(`"result":{${fieldsOf(1_000)}}`));
    await readAll(`[${'{"id":1},'.repeat(1_000)}{"id":2}]`);
  });

  it.each([
    ['in several events', 'data: [1,2,3,4]\n\ndata: [1,2,3,4]\n\n'],
    ['in texts', String.raw`data: "[[[[,,,,\"[[[[,,,,"` + '\n\n'],
    ['behind a comment with half a quotation', ': it"s\ndata: [1,2]\n\n'],
  ])('lets values pass %s', async (_name, text) => {
    const all = await Array.fromAsync(boundedStream(pieces(text), { framing: 'events', maxValues: 8 }));
    expect(Buffer.concat(all).toString()).toBe(text);
  });

  it('lets any number of lines pass, each within the limits', async () => {
    const lines = '[1,2,3,4]\n'.repeat(50);
    const all = await Array.fromAsync(boundedStream(pieces(lines), { framing: 'lines', maxBytes: 20, maxValues: 8 }));
    expect(Buffer.concat(all).toString()).toBe(lines);
  });

  it('passes many events on in several turns of the event loop, and a few in one', async () => {
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

/** What a message becomes whose objects and lists may be nested so many levels deep: those below are empty. */
function emptied(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return Array.isArray(value) ? [] : {};
  if (Array.isArray(value)) return value.map((child) => emptied(child, levels - 1));
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, emptied(child, levels - 1)]));
}

/** Ways to send a message, and what its reader takes for it. */
const sendings: [framing: Framing, write: (json: string) => string, read: (text: string) => string][] = [
  ['body', (json) => json, (text) => text],
  ['lines', (json) => `${json}\n`, (text) => text],
  ['events', (json) => `: {"[[\nevent: }}]]\r\ndata: ${json}\n\n`, dataOf],
  ['events', (json) => `data: ${json.replace(/^[[{]/, '$&\rdata:').replace(/[\]}]$/, '\rdata:$&')}\r\r`, dataOf],
  ['events', (json) => `\u{feff}\u{feff}data: ${json}\n\n`, (text) => text.slice(text.indexOf('data:') + 5)],
];

function dataOf(stream: string): string {
  return stream
    .split(/\r\n|\r|\n/)
    .flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : []))
    .join('\n');
}

describe('a message nested too deep', () => {
  const nested = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 12, depthSize: 'max' },
      fc.oneof(fc.string({ unit: fc.constantFrom('[', '}', '"', '\\', 'a', 'é', ',', '\n') }), fc.integer(), fc.constant(null)),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', '{"', ']', 'data:'), tie('any'), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).any;

  it.each(sendings)(
    'is emptied below that depth, and nothing else of it changes, wherever chunks end: %s',
    async (framing, write, read) => {
      await fc.assert(
        fc.asyncProperty(nested, fc.nat(4), fc.integer({ min: 1, max: 7 }), async (value, maxDepth, size) => {
          const bytes = new TextEncoder().encode(write(JSON.stringify(value)));
          const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
            bytes.slice(index * size, (index + 1) * size),
          );
          const all = await Array.fromAsync(boundedStream(ReadableStream.from(chunks), { framing, maxDepth }));
          expect(JSON.parse(read(Buffer.concat(all).toString()))).toEqual(emptied(value, maxDepth));
        }),
        { numRuns: 300 },
      );
    },
  );

  it.each(sendings)('counts only what is passed on of it as values: %s', async (framing, write, read) => {
    const text = write(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
    const all = await Array.fromAsync(boundedStream(pieces(text), { framing, maxDepth: 3, maxValues: 8 }));
    expect(JSON.parse(read(Buffer.concat(all).toString()))).toEqual({ a: [[[]]] });
  });

  it('does not count against the next one', async () => {
    const lines = '[[[1],2],3]\n[[[[[\n[[[1],2],3]\n';
    const all = await Array.fromAsync(boundedStream(pieces(lines), { framing: 'lines', maxDepth: 2 }));
    expect(Buffer.concat(all).toString()).toBe('[[[],2],3]\n[[[\n[[[],2],3]\n');
  });

  it('is not hidden by closing brackets that belong to no message', async () => {
    const stream = `: }}}}}\ndata: [[[\n: ]]]]\nother: ]]]\ndata: [[1]]]]]\n\n`;
    const all = await Array.fromAsync(boundedStream(pieces(stream), { framing: 'events', maxDepth: 3 }));
    expect(JSON.parse(dataOf(Buffer.concat(all).toString()))).toEqual([[[[]]]]);
  });
});
