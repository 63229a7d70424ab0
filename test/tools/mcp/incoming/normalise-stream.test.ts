import { expect, it } from 'vitest';
import { normaliseStream } from '../../../../src/tools/mcp/incoming/normalise-stream.ts';
import type { Framing } from '../../../../src/tools/mcp/incoming/normalise-stream.ts';

async function passedOn(text: string, framing: Framing, cutAt: number): Promise<string[]> {
  const bytes = Buffer.from(text);
  async function* body(): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, cutAt);
    yield bytes.subarray(cutAt);
  }
  const pieces: string[] = [];
  for await (const piece of normaliseStream(body(), framing)) pieces.push(Buffer.from(piece).toString());
  return pieces;
}

const given = '{"jsonrpc":"2.0","id":1,"error":null,"result":{"a":"é€😀","b":null}}';
const normal = '{"jsonrpc":"2.0","id":1,"result":{"a":"é€😀","resultType":"complete"}}';

const framed: [framing: Framing, sent: string, passed: string][] = [
  ['body', given, normal],
  ['body', 'no JSON', 'no JSON'],
  ['lines', `${given}\nStarting…\n${given}\n{"cut`, `${normal}\nStarting…\n${normal}\n{"cut`],
  [
    'events',
    `event: endpoint\ndata: /messages?id=1\n\n: hello\n\nid: 7\nevent: message\ndata: ${given}\n\ndata: ${given}\n\n`,
    `event: endpoint\ndata: /messages?id=1\n\n:\n\nid: 7\nevent: message\ndata: ${normal}\n\ndata: ${normal}\n\n`,
  ],
  [
    'events',
    `id: 8\r\ndata: {"jsonrpc":"2.0",\r\ndata: "id":1,"result":null}\r\n\r\nretry: 500\n\ndata: ${given}`,
    'id: 8\ndata: {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}\n\nretry: 500\n\n',
  ],
];

it.each(framed)('messages of %s are normal however the bytes are cut: %j', async (framing, sent, passed) => {
  for (let cutAt = 0; cutAt <= Buffer.byteLength(sent); cutAt += 1)
    expect([cutAt, (await passedOn(sent, framing, cutAt)).join('')]).toEqual([cutAt, passed]);
});

it('a message that is there is passed on before the next one', async () => {
  expect(await passedOn(`${given}\n${given}\n`, 'lines', Buffer.byteLength(given) + 1)).toEqual([`${normal}\n`, `${normal}\n`]);
  expect(await passedOn(`data: ${given}\n\ndata: ${given}\n\n`, 'events', Buffer.byteLength(given) + 8)).toEqual([
    `data: ${normal}\n\n`,
    `data: ${normal}\n\n`,
  ]);
});
