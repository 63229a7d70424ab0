import { addEnvFile, readConfig, readTextFile } from '../app/config/config.ts';
import { localUrl } from '../app/config/local-url.ts';
import { getLocally } from '../app/get-locally.ts';
import { createOutbound } from '../policy/outbound/outbound-request.ts';

/** For the image, which has no curl: exit code 0 if the gateway at the configured address is healthy, otherwise 1 and a line on stderr. */
export async function healthcheck(environment: NodeJS.ProcessEnv): Promise<void> {
  addEnvFile(environment, readTextFile);
  const config = readConfig(environment, readTextFile);
  const outbound = createOutbound({ egress: config.egress });
  const url = `${localUrl(config)}/health`;
  try {
    const { status } = await getLocally(url, outbound.send);
    if (status === 200) return;
    fail(`${url} answers with status ${status}`);
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  } finally {
    await outbound.close();
  }
}

function fail(reason: string): void {
  process.stderr.write(`toolwharf: not healthy: ${reason}\n`);
  process.exitCode = 1;
}
