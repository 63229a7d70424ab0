import type { BackendConfig, Config } from '../config/config.ts';
import { createBackends } from '../compose/compose-models.ts';
import { OutboundError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { containerLoopbackCure } from './container-loopback.ts';
import { broken, count, note, ok, warning } from './finding.ts';
import type { Finding } from '../../core/finding.ts';
import { createModelCatalog } from '../../models/catalog/model-catalog.ts';
import type { CatalogBackend } from '../../models/catalog/catalog-backend.ts';
import { findUnlistedTaskModels } from '../startup-warnings.ts';

/** Suggested to new users: small, and good at tool calls. */
const suggestedModel = 'qwen3:4b';
const pullCure = `On that machine: \`ollama pull ${suggestedModel}\` (with the compose file: \`docker compose exec ollama ollama pull ${suggestedModel}\`).`;

interface ExaminedModels {
  config: Config;
  send: SendOutbound;
  isContainer: boolean;
  /** Default: those of the configuration. */
  backends?: CatalogBackend[] | undefined;
}

interface ModelExamination {
  findings: Finding[];
  /** Ids of all listed models. */
  ids: ReadonlySet<string>;
}

/** Whether each backend answers, with how many models, and whether there is any model for chats. */
export async function examineModels({ config, send, isContainer, backends: given }: ExaminedModels): Promise<ModelExamination> {
  // Messages for clients contain neither URL nor cause, which operators may read.
  const causes = new Map<string, unknown>();
  const backends = (given ?? createBackends(config, send).backends).map((backend) => ({
    ...backend,
    list: (signal: AbortSignal) =>
      backend.list(signal).catch((error: unknown) => {
        causes.set(backend.name, error instanceof Error ? error.cause : undefined);
        throw error;
      }),
  }));
  const catalog = createModelCatalog({ backends, now: Date.now });
  const reports = await catalog.backends();
  const records = await catalog.list(AbortSignal.timeout(2 * limits.modelListTimeoutMs));
  const ids = new Set(records.map((record) => record.id));

  const examined = reports.map(async (report): Promise<Finding> => {
    const entry = config.backends.find((backend) => backend.name === report.name);
    if (entry === undefined) return ok(`${report.name}: the built-in demo, which is not a language model`);
    const name = `${entry.name} (${new URL(entry.url).origin})`;
    if (report.state !== 'ok') {
      const cause = causes.get(report.name);
      const text = `${name}: ${cause instanceof OutboundError ? cause.message : (report.error ?? 'does not answer')}`;
      // The Ollama at the default address is optional, so its absence is not an error.
      if (!entry.isExplicit) return note(text, 'Start Ollama, or set OLLAMA_BASE_URLS; not needed with other backends.');
      return broken(text, (isContainer && (await containerLoopbackCure(entry.url, send))) || unreachableCure(entry));
    }
    return report.models > 0
      ? ok(`${name}: ${count(report.models, 'model')}`)
      : warning(
          `${name}: answers, but has no models`,
          entry.kind === 'ollama' ? pullCure : 'Check what the key may use, and that the URL ends with /v1.',
        );
  });
  const unlistedTaskModels = findUnlistedTaskModels(config, ids).map(({ setting, id }) =>
    warning(
      `${setting}: no backend lists "${id}"; the chat's model chooses tools instead`,
      `Install it, or set ${setting} to one that is listed by GET /v1/models.`,
    ),
  );
  return { findings: [...(await Promise.all(examined)), ...unlistedTaskModels, ...(ids.size === 0 ? [noModels] : [])], ids };
}

const noModels = broken(
  'No model can answer a chat',
  'Repair a backend above, add one with OLLAMA_BASE_URLS or OPENAI_API_BASE_URLS, or set TOOLWHARF_DEMO=true to try tools without a model.',
);

function unreachableCure({ kind, url, key }: BackendConfig): string {
  if (kind === 'ollama')
    return /\/(?:api|v1)$/.test(url)
      ? `Set the address without this ending: ${url.replace(/\/(?:api|v1)$/, '')}`
      : 'Start Ollama there, or correct the address.';
  const hints = [...(/\/v\d+/.test(url) ? [] : ['end the address with /v1']), ...(key === undefined ? ['set its key'] : ['check its key'])];
  return `Start the server, or correct the address; ${hints.join('; ')}.`;
}
