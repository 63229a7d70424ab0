import { createServer, request as requestOf } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** A proxy in front of a gateway that passes on no upgrade, as most do unless they are told to. With `hangs` it does not even answer one. */
export async function startProxyWithoutUpgrade(target: string, { hangs = false } = {}) {
  const refused: string[] = [];
  const hanging = new Set<Duplex>();
  const server = createServer((incoming, outgoing) => {
    const { upgrade: _upgrade, connection: _connection, ...headers } = incoming.headers;
    const passed = requestOf(target + (incoming.url ?? '/'), { method: incoming.method ?? 'GET', headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  server.on('upgrade', (incoming, socket) => {
    refused.push(incoming.url ?? '');
    socket.on('error', () => undefined);
    hanging.add(socket);
    if (!hangs) socket.end('HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\n\r\n');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused,
    async [Symbol.asyncDispose]() {
      for (const socket of hanging) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
