import type { BackendConfig } from '../../core/models/backend-config.ts';
import type { BackendVerification, ServerVerification } from '../../core/models/backend-report.ts';
import type { Finding } from '../../core/finding.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { containerCure } from './container-loopback.ts';
import { broken, count, note, ok, warning } from './finding.ts';

/** Suggested to new users: small, and good at tool calls. */
const suggestedModel = 'qwen3:4b';
const pullCure = `On that machine: \`ollama pull ${suggestedModel}\` (with the compose file: \`docker compose exec ollama ollama pull ${suggestedModel}\`).`;

/**
 * How the servers of a backend answer, in the words of the doctor and of the log at the start. `sendInContainer`: undefined unless the gateway runs
 * in a container.
 */
export async function describeBackend(
  entry: BackendConfig,
  report: BackendVerification,
  sendInContainer: SendOutbound | undefined,
): Promise<Finding[]> {
  const servers = await Promise.all(report.servers.map((server) => describeServer(entry, server, { report, sendInContainer })));
  const areListed = report.servers.every(({ models }) => models > 0) || entry.models !== undefined;
  return [...servers, ...(report.isOk && areListed ? report.warnings.map((text) => note(`${entry.name}: ${text}`)) : [])];
}

async function describeServer(
  { name, isExplicit, kind, models: named, unreadableSecrets }: BackendConfig,
  { url, models: listed, fault, cure = '' }: ServerVerification,
  { report, sendInContainer }: { report: BackendVerification; sendInContainer: SendOutbound | undefined },
): Promise<Finding> {
  const server = `${name} (${shownAddress(url)})`;
  if (fault !== undefined) {
    const text = `${server}: ${fault}`;
    const isAsked = unreadableSecrets === undefined;
    const inContainer = sendInContainer && isAsked ? await containerCure({ url, isOllama: kind === 'ollama' }, sendInContainer) : undefined;
    // The Ollama at the default address is optional, so its absence is not an error.
    if (!isExplicit) return note(text, inContainer ?? 'Start Ollama, or set OLLAMA_BASE_URLS; not needed with other backends.');
    return broken(text, inContainer ?? cure);
  }
  const models = named === undefined ? listed : report.models.length;
  if (models > 0) return ok(`${server}: ${count(models, 'model')}`);
  const emptyCure = kind === 'ollama' ? pullCure : 'Check what the key may use, and that the URL ends with /v1.';
  return warning(`${server}: answers, but has no models`, emptyCure);
}

/** With its path, in which the mistake often is. Without what could be a secret. */
function shownAddress(url: string): string {
  const { origin, pathname } = new URL(url);
  return pathname === '/' ? origin : `${origin}${pathname}`;
}
