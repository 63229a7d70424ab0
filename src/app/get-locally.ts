import { readText, type SendOutbound } from '../core/outbound.ts';

/** Below the five seconds that the image allows for the whole command `healthcheck`. */
const timeoutMs = 3_000;
/** `/ready` names every backend and tool server. */
const answerBytes = 256 * 1024;

/** The answer of this machine at an address. @throws OutboundError, or the time limit's reason */
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
