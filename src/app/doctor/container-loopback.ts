import { existsSync } from 'node:fs';
import { OutboundError } from '../../core/errors.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { isLoopbackName } from '../../http/auth/open-mode.ts';
import { getLocally } from '../get-locally.ts';

/** Docker and Podman leave these files; elsewhere nothing is said about containers. */
export function isInContainer(): boolean {
  return existsSync('/.dockerenv') || existsSync('/run/.containerenv');
}

/** An Ollama must be told to listen for others than its own machine. */
export const ollamaHostCure = 'An Ollama listens on 127.0.0.1 only, unless OLLAMA_HOST=0.0.0.0 is set in its environment';

/**
 * The cure for an address at which nothing listens: a loopback one means the container itself and was meant for the machine around it, and an Ollama
 * elsewhere is not reached from a container until it listens for others. Whatever answers there, even with a refusal, was meant; then undefined.
 */
export async function containerCure(
  { url, isOllama = false }: { url: string; isOllama?: boolean },
  send: SendOutbound,
): Promise<string | undefined> {
  const target = new URL(url);
  const { hostname } = target;
  const isLoopback = isLoopbackName(hostname);
  if (!isLoopback && !isOllama) return undefined;
  const failure = await getLocally(url, send).catch((error: unknown) => error);
  if (!(failure instanceof OutboundError) || failure.failure !== 'unreachable') return undefined;
  // A host name that does not exist is another mistake.
  if (!isLoopback && !isConnectionRefused(failure)) return undefined;
  if (!isLoopback) return `${ollamaHostCure}: set it on that machine, and start Ollama again.`;
  target.hostname = 'host.docker.internal';
  const listening = isOllama ? `. ${ollamaHostCure}.` : ', and let that server listen on 0.0.0.0.';
  return `Inside a container ${hostname} is the container itself: use ${target.origin}${listening}`;
}

function isConnectionRefused({ cause }: OutboundError): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}
