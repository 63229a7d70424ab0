import { addEnvFile, readConfig, readTextFile } from '../app/config/config.ts';

import { localUrl } from '../app/config/local-url.ts';
import type { SendOutbound } from '../core/outbound.ts';
import { readText } from '../core/outbound.ts';
import { createOutbound } from '../policy/outbound/outbound-request.ts';

/** Below the five seconds that the image allows for the whole command. */
const timeoutMs = 3_000;
/** `/ready` names every backend and tool server. */
const answerBytes = 256 * 1024;

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

/** @throws OutboundError, or the time limit's reason */
export async function getLocally(url: string, send: SendOutbound): Promise<{ status: number; text: string }> {
  const { status, body } = await send({
    method: 'GET',
    url,
    trust: { kind: 'configured', origin: new URL(url).origin },
    signal: AbortSignal.timeout(timeoutMs),
    firstByteTimeoutMs: timeoutMs,
    idleTimeoutMs: timeoutMs,
  });
  const { text } = await readText(body, answerBytes);
  return { status, text };
}
