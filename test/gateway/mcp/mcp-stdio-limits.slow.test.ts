import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/client';
import { expect, it, onTestFinished } from 'vitest';
import { limits } from '../../../src/core/limits.ts';
import { isDeeperThan } from '../../../src/shared/json/json.ts';
import { explainMcpFailure } from '../../../src/tools/mcp/explain-mcp-failure.ts';
import { createAnswerWatch } from '../../../src/tools/mcp/incoming-messages.ts';
import { createCallScopes } from '../../../src/tools/mcp/call-scope.ts';
import { MarkedNumbers } from '../../../src/tools/mcp/transports/marked-numbers.ts';
import { createTransports } from '../../../src/tools/mcp/transports/create-transports.ts';
import { registeredPeer } from '../../../src/tools/mcp/mcp-peer.ts';
import { mcpRecord } from '../../tools/mcp/mcp-fixture.ts';
import { mcpMessageValues, mcpMessagesPerTurn } from '../../../src/tools/mcp/transports/bounded-stream.ts';

/** What came from a process that runs `script`, in order, and how many messages came in each turn of the event loop. */
interface Received {
  messages: JSONRPCMessage[];
  errors: string[];
  isClosed: boolean;
  mostInOneTurn: number;
}

function transportOf(script: string): Transport {
  const record = mcpRecord({ process: { command: process.execPath, args: ['-e', script], environment: {} } });
  const options = {
    send: () => Promise.reject(new Error('not used')),
    scopes: createCallScopes(),
    answers: createAnswerWatch(),
    numbers: new MarkedNumbers(),
    signal: new AbortController().signal,
  };
  const transport = createTransports(registeredPeer(record), options)[0]?.createTransport();
  if (transport === undefined) throw new Error('A process is a way.');
  onTestFinished(() => transport.close());
  return transport;
}

async function receiveFrom(script: string): Promise<Received> {
  const transport = transportOf(script);
  const received: Received = { messages: [], errors: [], isClosed: false, mostInOneTurn: 0 };
  let inTurn = 0;
  Object.assign(transport, {
    onmessage(message: JSONRPCMessage) {
      if (inTurn === 0) setImmediate(() => (inTurn = 0));
      inTurn += 1;
      received.mostInOneTurn = Math.max(received.mostInOneTurn, inTurn);
      received.messages.push(message);
      expect(received.isClosed).toBe(false);
    },
    onerror: (error: Error) => void received.errors.push(error.message),
    onclose: () => void (received.isClosed = true),
  });
  await transport.start();
  return received;
}

/** Writes to stdout, and stays until its stdin ends. */
const saying = (expression: string): string => `process.stdout.write(${expression}); process.stdin.resume();`;
const notification = (index: number | string): string => `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":${index}}}\\n`;

it('a line of more values than a message may have is not parsed, and ends the process', async () => {
  const received = await receiveFrom(saying(`'{"jsonrpc":"2.0","id":1,"result":{"lists":[' + '[],'.repeat(200_000) + '[]]}}\\n'`));
  await expect.poll(() => received.isClosed).toBe(true);
  expect(received.messages).toEqual([]);
  expect(received.errors.join('')).toContain(`more than ${mcpMessageValues} values`);
});

it('a line of more bytes than a message may have ends the process', async () => {
  const received = await receiveFrom(saying(`'{"jsonrpc":"2.0","id":1,"result":"' + 'x'.repeat(${limits.mcpMessageBytes}) + '"}\\n'`));
  await expect.poll(() => received.isClosed).toBe(true);
  expect(received.messages).toEqual([]);
  expect(received.errors.join('')).toContain(`more than ${limits.mcpMessageBytes} bytes`);
});

it('many messages in one piece come in several turns of the event loop, and none is lost when the process ends behind them', async () => {
  const count = 3_000;
  const received = await receiveFrom(
    `let all = ''; for (let i = 0; i < ${count}; i++) all += '${notification("' + i + '")}'; process.stdout.write(all);`,
  );
  await expect.poll(() => received.isClosed).toBe(true);
  expect(received.messages.map((message) => ('params' in message ? message.params?.['data'] : undefined))).toEqual(
    Array.from({ length: count }, (_, index) => index),
  );
  expect(received.mostInOneTurn).toBeGreaterThan(1);
  expect(received.mostInOneTurn).toBeLessThanOrEqual(mcpMessagesPerTurn);
});

it('lines that are no JSON are passed over, and lines with a carriage return are read', async () => {
  const received = await receiveFrom(saying(`'starting, "half a quotation\\n' + '${notification(1)}'.replace('\\n', '\\r\\n')`));
  await expect.poll(() => received.messages.length).toBe(1);
  expect(received.errors).toEqual([]);
});

it('a server that ends at any request before initialize is met with a fresh process', async () => {
  const script = `
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (method === 'initialize') {
        const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'strict', version: '1' } };
        console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
      } else if (id !== undefined) process.exit(1);
    });`;
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto', probe: { timeoutMs: 5_000 } } });
  await client.connect(transportOf(script));
  onTestFinished(() => client.close());
  expect(client.getServerVersion()?.name).toBe('strict');
});

it('a probe is held to the same limits', async () => {
  const script = `
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (method === 'server/discover')
        process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"lists":[' + '[],'.repeat(200_000) + '[]]}}\\n');
      else if (id !== undefined)
        console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'heavy', version: '1' } } }));
    });`;
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto', probe: { timeoutMs: 5_000 } } });
  await client.connect(transportOf(script));
  onTestFinished(() => client.close());
  // The probe's process ended instead of answering, which is what servers of the first era do.
  expect(client.getProtocolEra()).toBe('legacy');
});

it('a line nested deeper than a message may be is passed on without what is below, and the process goes on', async () => {
  const deep = `'{"jsonrpc":"2.0","id":1,"result":{"deep":' + '['.repeat(100_000) + ']'.repeat(100_000) + ',"text":"kept"}}\\n'`;
  const received = await receiveFrom(saying(`${deep} + '${notification(1)}'`));
  await expect.poll(() => received.messages.length).toBe(2);
  expect(received.messages[0]).toMatchObject({ result: { text: 'kept' } });
  expect([isDeeperThan(received.messages[0], limits.bodyDepth + 1), received.isClosed, received.errors]).toEqual([false, false, []]);
});

const ping = (id: number, text = ''): JSONRPCMessage => ({ jsonrpc: '2.0', id, method: 'ping', params: { text } });

it('closes the connection to a process that does not read what it is sent, and rejects what is beyond as not sent', async () => {
  const transport = transportOf('setInterval(() => undefined, 1_000);');
  let isClosed = false;
  Object.assign(transport, { onclose: () => void (isClosed = true) });
  await transport.start();
  const text = 'x'.repeat(limits.mcpMessageBytes / 8);
  const sent = Array.from({ length: 24 }, (_, id) => transport.send(ping(id, text)));
  const ends = await Promise.allSettled(sent);
  const reasons = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  expect(reasons.length).toBeGreaterThanOrEqual(7);
  expect(new Set(reasons.map((reason) => explainMcpFailure(reason).kind))).toEqual(new Set(['never-sent']));
  await expect.poll(() => isClosed).toBe(true);
});

it('sends everything to a process that begins to read late, with no listener for each message', async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const script = `
    let lines = 0;
    process.once('SIGUSR2', () => require('node:readline').createInterface({ input: process.stdin }).on('line', () => {
      lines += 1;
      if (lines === 5_000) process.stdout.write('${notification("' + lines + '")}');
    }));
    process.stdout.write('${notification(0)}');
    setInterval(() => undefined, 1_000);`;
  const transport = transportOf(script) as Transport & { pid: number };
  const received: JSONRPCMessage[] = [];
  Object.assign(transport, { onmessage: (message: JSONRPCMessage) => void received.push(message) });
  await transport.start();
  await expect.poll(() => received.length).toBe(1);
  const sent = Array.from({ length: 5_000 }, (_, id) => transport.send(ping(id, 'x'.repeat(100))));
  process.kill(transport.pid, 'SIGUSR2');
  await Promise.all(sent);
  await expect.poll(() => received.at(-1)).toMatchObject({ params: { data: 5_000 } });
  expect(warnings).toEqual([]);
});
