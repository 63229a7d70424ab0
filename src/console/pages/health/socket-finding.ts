import { useEffect, useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';

type Finding = AnswerOf<'GET /api/doctor'>['data'][number];

const waitMs = 5_000;

/** What only a browser can find out: no websocket opens on its way to the gateway. `turn`: tries again with each new value. */
export function useSocketFinding(turn: unknown): Finding | undefined {
  const [isRefused, setRefused] = useState(false);
  useEffect(() => {
    const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/ws`, ['toolwharf.v1']);
    const timer = setTimeout(() => setRefused(true), waitMs);
    const settle = (refused: boolean) => (): void => {
      clearTimeout(timer);
      setRefused(refused);
    };
    const onError = settle(true);
    socket.addEventListener('error', onError);
    socket.addEventListener('open', () => {
      settle(false)();
      socket.close();
    });
    return () => {
      clearTimeout(timer);
      socket.removeEventListener('error', onError);
      socket.close();
    };
  }, [turn]);
  return isRefused ? noSocket : undefined;
}

const noSocket: Finding = {
  level: 'warning',
  about: 'This browser',
  message: 'No websocket can be opened at this address. Chats work over HTTP, but tools in browsers do not.',
  cure:
    'Let the proxy pass websockets. In nginx: `proxy_http_version 1.1;`, `proxy_set_header Upgrade $http_upgrade;` and ' +
    '`proxy_set_header Connection $connection_upgrade;`.',
};
