import closeWithGrace from 'close-with-grace';
import { readConfig } from '../app/config/config.ts';
import { startTimeServer } from '../demo/time-server.ts';

/** The port that the tool servers of Open WebUI use. */
const usualPort = '8000';

/** The bundled time tool server alone; `HOST` and `PORT` move it. */
export async function serveTime(environment: NodeJS.ProcessEnv): Promise<void> {
  const { host, port } = readConfig({ HOST: environment['HOST'], PORT: environment['PORT'] ?? usualPort }, () => undefined);
  const time = await startTimeServer({ host, port });
  closeWithGrace(() => time.close());
  process.stdout.write(`The time tool server listens on ${time.url}; its document is ${time.url}/openapi.json\n`);
}
