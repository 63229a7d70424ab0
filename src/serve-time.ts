import closeWithGrace from 'close-with-grace';
import { startTimeServer } from './demo/time-server.ts';

/** The bundled time tool server alone, at the port that the tool servers of Open WebUI use (`TIME_SERVER_PORT`, default 8000). */
export async function serveTime(environment: NodeJS.ProcessEnv): Promise<void> {
  const port = Number(environment['TIME_SERVER_PORT'] ?? '8000');
  const time = await startTimeServer({ host: environment['HOST'] ?? '127.0.0.1', port });
  closeWithGrace(() => time.close());
  process.stdout.write(`The time tool server listens on ${time.url}; its document is ${time.url}/openapi.json\n`);
}
