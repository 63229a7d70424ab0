import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { MarkedNumbers } from '../../../src/tools/mcp/transports/marked-numbers.ts';
import type { Framing } from '../../../src/tools/mcp/transports/bounded-stream.ts';

async function* inPieces(text: string, length: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += length) yield new Uint8Array(bytes.subarray(start, start + length));
}

const message =
  '{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"ö \\"9007199254740993":[9007199254740993,"9007199254740993",1e400,5]},"progress":0.12345678901234567890}}';

test.each<[Framing, string]>([
  ['lines', `${message}\n`],
  ['body', message],
  ['events', `: 1234567890123456789\nid: 1234567890123456789\ndata: ${message}\r\n\n`],
])('numbers of %s pass a parser that knows JavaScript numbers only, however they are cut', async (framing, text) => {
  for (const length of [1, 7, 50, 10_000]) {
    const numbers = new MarkedNumbers();
    const pieces: Uint8Array[] = [];
    for await (const piece of numbers.mark(inPieces(text, length), framing)) pieces.push(piece);
    const passed = Buffer.concat(pieces).toString();
    expect(passed.replace(/\{.*\}/, '')).toBe(text.replace(/\{.*\}/, ''));
    const parsed = numbers.unmarkProtocol(JSON.parse(/\{.*\}/.exec(passed)?.[0] ?? '') as JSONRPCMessage);
    expect(parsed).toMatchObject({ result: { progress: 0.12345678901234568 } });
    expect(JSON.stringify(numbers.unmark(parsed))).toBe(message.replace('0.12345678901234567890', '0.12345678901234568'));
  }
});

test('bytes in which no number loses digits stay as they are', async () => {
  const numbers = new MarkedNumbers();
  const [piece] = await Array.fromAsync(numbers.mark(inPieces('{"a":"9007199254740992","b":12}\n', 100), 'lines'));
  expect(Buffer.from(piece ?? []).toString()).toBe('{"a":"9007199254740992","b":12}\n');
});
