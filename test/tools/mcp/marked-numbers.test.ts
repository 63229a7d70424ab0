import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { expect, it } from 'vitest';
import { boundedStream } from '../../../src/tools/mcp/transports/bounded-stream.ts';
import { MarkedNumbers } from '../../../src/tools/mcp/transports/marked-numbers.ts';
import type { Framing } from '../../../src/tools/mcp/incoming/normalise-stream.ts';
import { mcpNumberCharacters } from '../../../src/tools/mcp/transports/bounded-stream.ts';

async function* inPieces(text: string, length: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += length) yield new Uint8Array(bytes.subarray(start, start + length));
}

const message =
  '{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"ö \\"9007199254740993":[9007199254740993,"9007199254740993",1e400,5]},"progress":0.12345678901234567890}}';

it.each<[Framing, string]>([
  ['lines', `${message}\n`],
  ['body', message],
  ['events', `: 1234567890123456789\nid: 1234567890123456789\ndata: ${message}\r\n\n`],
])('numbers of %s pass a parser that knows JavaScript numbers only, however they are cut', async (framing, text) => {
  for (const length of [1, 7, 50, 10_000]) {
    const numbers = new MarkedNumbers();
    const pieces: Uint8Array[] = [];
    for await (const piece of numbers.pass(inPieces(text, length), { framing })) pieces.push(piece);
    const passed = Buffer.concat(pieces).toString();
    expect(passed.replace(/\{.*\}/, '')).toBe(text.replace(/\{.*\}/, ''));
    const parsed = numbers.unmarkProtocol(JSON.parse(/\{.*\}/.exec(passed)?.[0] ?? '') as JSONRPCMessage);
    expect(parsed).toMatchObject({ result: { progress: 0.12345678901234568 } });
    expect(JSON.stringify(numbers.unmark(parsed))).toBe(message.replace('0.12345678901234567890', '0.12345678901234568'));
  }
});

it('bytes in which no number loses digits are passed on as they came, however long the line is', async () => {
  const text = `{"a":"9007199254740992","b":[12,123456789012345,1234567.5,1e21],"c":"${'x'.repeat(100)}"}\n`;
  const pieces = await Array.fromAsync(new MarkedNumbers().pass(inPieces(text, 20), { framing: 'lines' }));
  expect(pieces.length).toBeGreaterThan(5);
  expect(Buffer.concat(pieces).toString()).toBe(text);
});

it.each(['9007199254740993', '-0.12345678901234567890', '1e400', '1E-400', '12.5e+123', '0.12345678901234567'])(
  'the stream may replace %s wherever it is cut, and none within a text',
  async (number) => {
    const offered = async (text: string, length: number): Promise<string[]> => {
      const sources: string[] = [];
      const replaceNumber = (source: string): string => {
        sources.push(source);
        return '"replaced"';
      };
      const all = await Array.fromAsync(boundedStream(inPieces(text, length), { framing: 'body', replaceNumber }));
      expect(Buffer.concat(all).toString()).toBe(sources.reduce((left, source) => left.replace(source, '"replaced"'), text));
      return sources;
    };
    for (const length of [1, 3, 1_000]) {
      expect(await offered(`{"a":[1,${number}],"b":2}`, length)).toEqual([number]);
      expect(await offered(`[\n${number}\t,${number}\r]`, length)).toEqual([number, number]);
      expect(await offered(`{"a":["1","${number}",1,22,333,4444],"b":1e21}`, length)).toEqual([]);
    }
  },
);

it('the stream offers no more numbers for replacement than there are values, because more are no JSON', async () => {
  let offered = 0;
  const replaceNumber = (): string => `"${(offered += 1)}"`;
  await Array.fromAsync(boundedStream(inPieces(`[${'1e400 '.repeat(1_000)}]`, 100), { framing: 'body', replaceNumber }));
  expect(offered).toBe(1);
});

it('the stream ends at a number of too many characters, before it is read', async () => {
  const replaceNumber = (): string => expect.unreachable();
  const text = `{"a":${'7'.repeat(mcpNumberCharacters + 1)}}`;
  for (const length of [1_000, 100_000]) {
    const all = Array.fromAsync(boundedStream(inPieces(text, length), { framing: 'body', replaceNumber }));
    await expect(all).rejects.toThrow(`a number of more than ${mcpNumberCharacters} characters`);
  }
});

it('only numbers in the syntax of JSON are marked, and come back from a mark', async () => {
  const numbers = new MarkedNumbers();
  const mark = async (text: string): Promise<string> =>
    Buffer.concat(await Array.fromAsync(numbers.pass(inPieces(text, 1_000), { framing: 'lines' }))).toString();
  for (const none of ['1.1.1.1.1.1.1.1.1.1', '12345678901234567890.', '0012345678901234567890'])
    expect(await mark(`[${none}]`)).toBe(`[${none}]`);
  const [marked] = JSON.parse(await mark('[12345678901234567890]')) as [string];
  const forged = marked.replace('12345678901234567890', '1.1.1');
  expect(JSON.stringify(numbers.unmark({ default: forged, real: marked }))).toBe(`{"default":"${forged}","real":12345678901234567890}`);
});

it('the address of an endpoint stays as it is, although its id looks like a long number', async () => {
  const text = 'event: endpoint\ndata: /message?sessionId=7d1e4567-12345678901234567890-4e999\n\n';
  const pieces = await Array.fromAsync(new MarkedNumbers().pass(inPieces(text, 9), { framing: 'events' }));
  expect(Buffer.concat(pieces).toString()).toBe(text);
});
