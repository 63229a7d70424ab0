import { startTimeServer } from '../../src/demo/time-server.ts';
import { testApp } from './build-app.ts';
import type { TestApp } from './build-app.ts';

export interface FreshGateway {
  app: TestApp;
  url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The port of the last one, which may be free again: a browser that has been there need not load and compile the console once more. */
let lastPort = 0;

async function listenAgain(app: TestApp): Promise<string> {
  const at = (port: number): Promise<string> => app.server.listen({ host: '127.0.0.1', port });
  const url = await at(lastPort).catch(() => at(0));
  lastPort = Number(new URL(url).port);
  return url;
}

/** A gateway as it starts for a newcomer: the demo model, and the time server; `parts` as for `testApp`. */
export async function freshGateway(environment: NodeJS.ProcessEnv = {}, parts: Parameters<typeof testApp>[1] = {}): Promise<FreshGateway> {
  const time = await startTimeServer({ host: '127.0.0.1', port: 0 });
  const connections = JSON.stringify([{ id: 'time', url: time.url }]);
  const app = await testApp({ OLLAMA_BASE_URLS: ';', TOOLWHARF_DEMO: 'true', TOOL_SERVER_CONNECTIONS: connections, ...environment }, parts);
  const url = await listenAgain(app);
  return {
    app,
    url,
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await time.close();
    },
  };
}
