import { existsSync } from 'node:fs';
import { OutboundError } from '../../core/errors.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { isLoopbackName } from '../../http/auth/open-mode.ts';
import { getLocally } from '../get-locally.ts';

/** Docker and Podman leave these files; elsewhere nothing is said about containers. */
export function isInContainer(): boolean {
  return existsSync('/.dockerenv') || existsSync('/run/.containerenv');
}

/**
 * The cure for an address that means the container itself and was meant for the machine around it: a loopback one at which nothing listens.
 * Whatever answers there, even with a refusal, was meant; then undefined.
 */
export async function containerLoopbackCure(url: string, send: SendOutbound): Promise<string | undefined> {
  const target = new URL(url);
  const { hostname } = target;
  if (!isLoopbackName(hostname)) return undefined;
  const failure = await getLocally(url, send).catch((error: unknown) => error);
  if (!(failure instanceof OutboundError) || failure.failure !== 'unreachable') return undefined;
  target.hostname = 'host.docker.internal';
  return `Inside a container ${hostname} is the container itself: use ${target.origin}, and let that server listen on 0.0.0.0.`;
}
