import type { BackendConfig, Config } from '../../app/config/config.ts';
import { createBackends } from '../../app/create-backends.ts';
import { OutboundError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { loopbackInContainer } from './examine-machine.ts';
import { count } from './finding.ts';
import type { Finding } from './finding.ts';
import { isContainerLoopback } from '../../app/is-container-loopback.ts';
import { createModelCatalog } from '../../models/model-catalog.ts';
import type { BackendReport } from '../../models/model-catalog.ts';
import { findUnlistedTaskModels } from '../../app/startup-warnings.ts';

/** Small, and calls tools well: what a newcomer is advised to install. */
const advisedModel = 'qwen3:4b';
const pullCure = `On that machine: ollama pull ${advisedModel} (with the compose file: docker compose exec ollama ollama pull ${advisedModel}).`;

export interface ModelExamination {
  findings: Finding[];
  /** Of every model that is listed. */
  ids: ReadonlySet<string>;
}

/** Whether each backend answers, with how many models, and whether any model is there to answer a chat. */
export async function examineModels(config: Config, send: SendOutbound, isContainer: boolean): Promise<ModelExamination> {
  // A client's words name no address and no cause; an operator's may.
  const causes = new Map<string, unknown>();
  const backends = createBackends(config, send).backends.map((backend) => ({
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
    if (entry === undefined) return { level: 'ok', text: `${report.name}: the built-in stand-in, which is no language model` };
    if (report.state !== 'ok') {
      const isLost = isContainer && (await isContainerLoopback(entry.url, send));
      return unreachable(entry, reasonOf(report, causes.get(report.name)), isLost);
    }
    return report.models === 0 ? withoutModels(entry) : { level: 'ok', text: `${nameOf(entry)}: ${count(report.models, 'model')}` };
  });
  const findings = await Promise.all(examined);
  return { findings: [...findings, ...examineTaskModels(config, ids), ...(ids.size === 0 ? [nothingToAsk] : [])], ids };
}

const nothingToAsk: Finding = {
  level: 'broken',
  text: 'No model can answer a chat',
  cure: 'Mend a backend above, add one with OLLAMA_BASE_URLS or OPENAI_API_BASE_URLS, or set TOOLWHARF_DEMO=true to try tools without a model.',
};

function examineTaskModels(config: Config, ids: ReadonlySet<string>): Finding[] {
  return findUnlistedTaskModels(config, ids).map(({ setting, id }): Finding => {
    const cure = `Install it, or set ${setting} to one that is listed by GET /v1/models.`;
    return { level: 'warning', text: `${setting}: no backend lists "${id}"; the chat's model chooses tools instead`, cure };
  });
}

/** The Ollama at the default address is only tried, so nothing is wrong when it is not there. */
function unreachable(entry: BackendConfig, reason: string, isLost: boolean): Finding {
  const text = `${nameOf(entry)}: ${reason}`;
  if (!entry.isExplicit) return { level: 'note', text, cure: 'Start Ollama, or set OLLAMA_BASE_URLS; not needed with other backends.' };
  return { level: 'broken', text, cure: isLost ? loopbackInContainer(entry.url) : unreachableCure(entry) };
}

function unreachableCure({ kind, url, key }: BackendConfig): string {
  if (kind === 'ollama')
    return /\/(?:api|v1)$/.test(url)
      ? `Set the address without its end: ${url.replace(/\/(?:api|v1)$/, '')}`
      : 'Start Ollama there, or correct the address.';
  const hints = [
    ...(/\/v\d+/.test(url) ? [] : ['give the address up to and with /v1']),
    ...(key === undefined ? ['set its key'] : ['check its key']),
  ];
  return `Start the server, or correct the address; ${hints.join('; ')}.`;
}

function withoutModels(entry: BackendConfig): Finding {
  const text = `${nameOf(entry)}: answers, but has no models`;
  if (entry.kind === 'ollama') return { level: 'warning', text, cure: pullCure };
  return { level: 'warning', text, cure: 'Check what the key may use, and that the address goes up to and with /v1.' };
}

function reasonOf({ error }: BackendReport, cause: unknown): string {
  return cause instanceof OutboundError ? cause.message : (error ?? 'does not answer');
}

function nameOf({ name, url }: BackendConfig): string {
  return `${name} (${new URL(url).origin})`;
}
