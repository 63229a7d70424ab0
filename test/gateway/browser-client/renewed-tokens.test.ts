import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { JsonObject } from '../../../src/shared/json/json.ts';

interface Client {
  ready(): Promise<string>;
  chat(content: string): { done: Promise<{ content: string }> };
  close(): void;
}
const module = (await import(new URL('../../../src/client/toolwharf-client.js', import.meta.url).href)) as {
  connect(options: Record<string, unknown>): Client;
};

/** A gateway that has its own idea of when a token ends; `serve` gets each connection and the token that it came with. */
async function gateway(serve: (socket: WebSocket, token: string) => void): Promise<{ url: string; tokens: string[] }> {
  const tokens: string[] = [];
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: () => 'toolwharf.v1' });
  onTestFinished(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  await once(server, 'listening');
  const admit = (socket: WebSocket, token: string): void => {
    tokens.push(token);
    serve(socket, token);
  };
  server.on('connection', (socket, { headers }) => {
    const inHandshake = /bearer\.(\w+)/.exec(headers['sec-websocket-protocol'] ?? '')?.[1];
    if (inHandshake !== undefined) return admit(socket, inHandshake);
    return socket.once('message', (data) => admit(socket, String((JSON.parse(String(data)) as { data: JsonObject }).data['token'])));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tokens };
}

const tell = (socket: WebSocket, type: string, data: JsonObject): void => socket.send(JSON.stringify({ type, data }));

function connectClient(options: Record<string, unknown>): Client {
  const client = module.connect({ token: 'first', retryMs: 10, ...options });
  onTestFinished(() => client.close());
  return client;
}

describe('a token that ends', () => {
  it('is renewed, and the session with its running chat is taken up again', async () => {
    let message = '';
    const { url, tokens } = await gateway((socket, token) => {
      tell(socket, 'session', { session_id: 's', ...(token === 'second' && { resumed: true }) });
      if (token === 'second') tell(socket, 'assistant_end', { message_id: message, content: 'Hello.' });
      socket.on('message', (data) => {
        message = String((JSON.parse(String(data)) as { data: JsonObject }).data['id']);
        tell(socket, 'assistant_start', { message_id: message, run_id: 'r' });
        socket.close(4401);
      });
    });
    const statuses: string[] = [];
    const client = connectClient({ url, renew: async () => 'second', onStatus: (status: string) => statuses.push(status) });
    await expect(client.chat('Hi!').done).resolves.toMatchObject({ content: 'Hello.' });
    expect(tokens).toEqual(['first', 'second']);
    expect(statuses).toEqual(['connecting', 'open', 'waiting', 'connecting', 'open']);
  });

  it.each<[what: string, renew: unknown, tokens: string[]]>([
    ['there is nothing to renew it with', undefined, ['first']],
    ['there is no other', () => undefined, ['first']],
    ['it cannot be asked for', () => Promise.reject(new Error('offline')), ['first']],
    ['the other is refused as well', () => 'second', ['first', 'second']],
  ])('closes the connection for good if %s', async (_what, renew, expected) => {
    const { url, tokens } = await gateway((socket) => socket.close(4401, 'The key is not known here.'));
    const { promise: closed, resolve } = Promise.withResolvers<string>();
    const client = connectClient({ url, renew, onStatus: (status: string, why: string) => status === 'closed' && resolve(why) });
    await expect(client.ready()).rejects.toThrow('The key is not known here.');
    expect(await closed).toBe('The key is not known here.');
    expect(tokens).toEqual(expected);
  });
});
