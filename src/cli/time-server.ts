import closeWithGrace from 'close-with-grace';
import { readConfig } from '../app/config/config.ts';
import { startTimeServer } from '../demo/time-server.ts';

/** The default port of Open WebUI's tool servers. */
const defaultPort = '8000';

/** Serves only the bundled time tool server; `HOST` and `PORT` set its address. */
export async function serveTime(environment: NodeJS.ProcessEnv): Promise<void> {
  const { host, port } = readConfig({ HOST: environment['HOST'], PORT: environment['PORT'] ?? defaultPort }, () => undefined);
  const time = await startTimeServer({ host, port });
  closeWithGrace(() => time.close());
  process.stdout.write(`The time tool server listens on ${time.url}; its document is ${time.url}/openapi.json\n`);
}
