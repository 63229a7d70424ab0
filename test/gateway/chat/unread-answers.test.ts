import { once } from 'node:events';
import { connect } from 'node:net';
import { it, onTestFinished } from 'vitest';
import { listen, testApp } from '../../_support/build-app.ts';

it('a client that reads nothing of a plain answer is disconnected', async () => {
  const app = await testApp({ CLIENT_STALL_TIMEOUT_MS: '100' });
  onTestFinished(() => app[Symbol.asyncDispose]());
  const { hostname, port, host } = new URL(await listen(app));
  const closed = new Promise<void>((resolve) => app.server.server.once('connection', (socket) => socket.once('close', () => resolve())));
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.pause();
  // More than the buffers of the system hold.
  socket.write(`GET /openapi.json HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(200));
  await closed;
});
