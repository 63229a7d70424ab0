import { createServer, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';

export interface SubPathProxy {
  /** With the path, such as `http://127.0.0.1:1234/tools`. */
  url: string;
  /** Paths outside the one that it serves. */
  strays: string[];
  forwardTo(target: string): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A reverse proxy that serves a gateway below a path: it takes the path out of each request, and passes websockets on. */
export async function startSubPathProxy(path: string): Promise<SubPathProxy> {
  let target = new URL('http://127.0.0.1:9');
  const strays: string[] = [];
  const sockets = new Set<Socket>();
  const stripped = (url = '/'): string | undefined => {
    if (url.startsWith(`${path}/`)) return url.slice(path.length);
    strays.push(url);
    return undefined;
  };
  const server = createServer((incoming, outgoing) => {
    const within = stripped(incoming.url);
    if (within === undefined) return void outgoing.writeHead(404).end('another program');
    const { method = 'GET', headers } = incoming;
    const passed = request({ host: target.hostname, port: target.port, path: within, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  server.on('upgrade', (incoming, socket: Socket, head: Buffer) => {
    const within = stripped(incoming.url);
    if (within === undefined) return socket.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    sockets.add(socket).add(upstream);
    for (const end of [socket, upstream]) end.on('error', () => undefined);
    const lines = incoming.rawHeaders.flatMap((name, index, all) => (index % 2 === 0 ? [`${name}: ${all[index + 1] ?? ''}`] : []));
    upstream.write(`GET ${within} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    upstream.write(head);
    socket.pipe(upstream).pipe(socket);
    return undefined;
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${path}`,
    strays,
    forwardTo: (address) => void (target = new URL(address)),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
