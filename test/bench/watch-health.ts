import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

export interface HealthWatch {
  /** The slowest answer so far, an open question included. */
  end(): Promise<{ slowestMs: number; questions: number }>;
}

/** Asks `/health` without a pause, over one connection, so that the figure is the gateway's and not that of new connections. */
export function watchHealth({ url }: { url: string }): HealthWatch {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let slowestMs = 0;
  let questions = 0;
  const ending = new AbortController();
  const watching = (async () => {
    while (!ending.signal.aborted) {
      const began = performance.now();
      await askHealth(url, agent);
      slowestMs = Math.max(slowestMs, performance.now() - began);
      questions += 1;
      await pause(2);
    }
    agent.destroy();
  })();
  return {
    async end() {
      ending.abort();
      await watching;
      return { slowestMs, questions };
    },
  };
}

function askHealth(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/health`, { agent }, (response) => response.resume().once('end', () => resolve()));
    asked.once('error', reject).end();
  });
}
