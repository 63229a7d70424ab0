import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { expect, it } from 'vitest';
import { limits } from '../../../../src/core/limits.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { mcpTools, offerOf } from '../mcp-fixture.ts';
import { toolOf } from '../scripted-peer.ts';
import { mcpOpenQuestions } from '../../../../src/tools/mcp/incoming/open-questions.ts';

interface Asking {
  /** Answers that were sent to it. */
  answers: number;
  /** They are taken; else they wait to be sent. */
  takesAnswers: boolean;
  isClosed: boolean;
  /** Sends a message. */
  say(message: JsonObject): Promise<void>;
  createTransport(): Transport;
}

/** A server that asks as much as a test wants. */
function askingServer(): Asking {
  let current: Transport | undefined;
  const server: Asking = {
    answers: 0,
    takesAnswers: false,
    isClosed: false,
    async say(message) {
      current?.onmessage?.({ jsonrpc: '2.0', ...message } as unknown as JSONRPCMessage);
      await new Promise((resolve) => setImmediate(resolve));
    },
    createTransport() {
      const transport: Transport = {
        start: async () => undefined,
        async send(message) {
          if (!('method' in message)) {
            server.answers += 1;
            if (!server.takesAnswers) await new Promise(() => undefined);
          } else if ('id' in message) setImmediate(() => void server.say({ id: message.id, result: resultOf(message.method) }));
        },
        async close() {
          server.isClosed = true;
          transport.onclose?.();
        },
      };
      current = transport;
      return transport;
    },
  };
  return server;
}

function resultOf(method: string): JsonObject {
  if (method === 'tools/list') return { tools: [{ ...toolOf('echo') }] as unknown as JsonObject[] };
  return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'asking', version: '1' } };
}

async function connectedServer(): Promise<Asking> {
  const server = askingServer();
  const kind = { isLegacy: true, connectTimeoutMs: 5_000, createTransport: () => server.createTransport() };
  const { tools } = await offerOf(mcpTools({ transports: () => [kind] }));
  expect([...tools.keys()]).toEqual(['echo']);
  return server;
}

it('the connection to a server that asks without taking the answers is closed', async () => {
  const server = await connectedServer();
  for (let id = 0; id < mcpOpenQuestions; id += 1) await server.say({ id, method: 'ping' });
  expect(server).toMatchObject({ answers: mcpOpenQuestions, isClosed: false });
  await server.say({ id: 'one more', method: 'ping' });
  expect(server.isClosed).toBe(true);
});

it.each(['the same id', 'long ids', 'long questions'])('so is one that asks so with %s', async (kind) => {
  const server = await connectedServer();
  const long = 'x'.repeat(limits.mcpMessageBytes / 8);
  for (let index = 0; index <= mcpOpenQuestions && !server.isClosed; index += 1) {
    const id = kind === 'long ids' ? `${long}${index}` : kind === 'the same id' ? 'same' : index;
    await server.say({ id, method: 'ping', ...(kind === 'long questions' && { params: { long } }) });
  }
  expect(server.isClosed).toBe(true);
  expect(server.answers).toBeLessThanOrEqual(kind === 'the same id' ? mcpOpenQuestions + 1 : 8);
});

it('a server that takes the answers may ask as often as it likes, and withdraw what it has asked', async () => {
  const server = await connectedServer();
  server.takesAnswers = true;
  for (let id = 0; id < 2 * mcpOpenQuestions; id += 1) {
    await server.say({ id, method: id % 2 === 0 ? 'ping' : 'unknown' });
    server.say({ id: `e${id}`, method: 'ping' }).catch(() => undefined);
    await server.say({ method: 'notifications/cancelled', params: { requestId: `e${id}` } });
  }
  expect(server.isClosed).toBe(false);
  expect(server.answers).toBeGreaterThanOrEqual(2 * mcpOpenQuestions);
});
