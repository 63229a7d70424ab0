import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openDoor } from '../../../gateway/requests/socket-fixture.ts';
import { waitFor } from '../../../_support/wait-for.ts';

/** A ping of a client, without a payload: 0x80 final, 0x9 ping; 0x80 masked, with a mask of zeros. */
const ping = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);

it('small frames that arrive together are read in as many turns of the event loop', async () => {
  const door = await openDoor({ isOpen: true });
  const { port } = new URL(door.url);
  const socket = connect(Number(port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const key = 'dGhlIHNhbXBsZSBub25jZQ==';
  const head = ['GET /ws HTTP/1.1', 'host: 127.0.0.1', 'upgrade: websocket', 'connection: Upgrade', 'sec-websocket-version: 13'];
  socket.write(`${[...head, `sec-websocket-key: ${key}`].join('\r\n')}\r\n\r\n`);
  let greeting = '';
  socket.on('data', (piece: Buffer) => (greeting += piece.toString('latin1')));
  await waitFor(() => expect(greeting).toContain('session_id'));
  socket.removeAllListeners('data');
  let turns = 0;
  const count = (): void => {
    turns += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  onTestFinished(() => clearImmediate(counting));
  // A pong has a head of two bytes, and nothing behind it. More than sixty that wait to be sent end the socket.
  const pongs = 50;
  let isAnswered = false;
  let pongBytes = 0;
  let answeredAfter = 0;
  socket.on('data', (piece: Buffer) => {
    pongBytes += piece.length;
    if (!isAnswered && pongBytes >= 2 * pongs) answeredAfter = turns;
    isAnswered = pongBytes >= 2 * pongs;
  });
  turns = 0;
  socket.write(Buffer.concat(Array.from({ length: pongs }, () => ping)));
  await waitFor(() => expect(isAnswered).toBe(true));
  expect(answeredAfter).toBeGreaterThanOrEqual(pongs);
});
