import { OutboundError } from '../core/errors.ts';
import type { SendOutbound } from '../core/outbound.ts';
import { getLocally } from '../cli/healthcheck.ts';
import { isLoopbackName } from '../http/auth/authenticate.ts';

/**
 * Whether an address inside of a container means the container itself, and was meant for the machine around it: a loopback one at which nothing listens.
 * Whatever answers there, be it with a refusal, was the right one.
 */
export async function isContainerLoopback(url: string, send: SendOutbound): Promise<boolean> {
  if (!isLoopbackName(new URL(url).hostname)) return false;
  try {
    await getLocally(url, send);
    return false;
  } catch (error) {
    return error instanceof OutboundError && error.failure === 'unreachable';
  }
}
