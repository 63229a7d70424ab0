import type { Config } from '../config/config.ts';
import { createModelLister, createOpenedBackends } from '../compose/opened-backends.ts';
import { limits } from '../../core/limits.ts';
import type { BackendConfig } from '../../core/models/backend-config.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { describeBackend } from './describe-backend.ts';
import { broken, ok, warning } from './finding.ts';
import type { Finding } from '../../core/finding.ts';
import type { CatalogBackend } from '../../models/catalog/catalog-backend.ts';
import { verifyBackend } from '../../models/catalog/verify-backend.ts';
import { RefusalMemory } from '../../models/remedies/refusal-memory.ts';
import { findUnlistedTaskModels } from '../startup-warnings.ts';

interface ExaminedModels {
  config: Config;
  /** Of the configuration, and stored ones. */
  entries: readonly BackendConfig[];
  send: SendOutbound;
  isContainer: boolean;
  /** Replaces those of the entries. */
  backends?: readonly CatalogBackend[] | undefined;
  signal: AbortSignal;
}

interface ModelExamination {
  findings: Finding[];
  /** Ids of all listed models. */
  ids: ReadonlySet<string>;
}

/** Whether each backend answers, with how many models, and whether there is any model for chats. */
export async function examineModels({ config, entries, send, isContainer, backends, signal }: ExaminedModels): Promise<ModelExamination> {
  const listerOf = createModelLister(config, { send, signal });
  const examined = await Promise.all(
    (backends === undefined ? entries : []).map(async (entry) => {
      const report = await verifyBackend(entry, listerOf(entry));
      return { entry, report, findings: await describeBackend(entry, report, isContainer ? send : undefined) };
    }),
  );
  const others = backends ?? openDemo(config, entries, send);
  const otherIds = await Promise.all(others.map((backend) => backend.list(AbortSignal.timeout(limits.modelListTimeoutMs)).catch(() => [])));
  const ids = new Set([
    ...examined.flatMap(({ entry: { prefix }, report }) => report.models.map((id) => (prefix === undefined ? id : `${prefix}/${id}`))),
    ...otherIds.flat().map(({ id }) => id),
  ]);
  const findings = [
    ...examined.flatMap((backend) => backend.findings),
    ...others.map(({ name }) => ok(`${name}: the built-in demo, which is not a language model`)),
  ];
  const unlistedTaskModels = findUnlistedTaskModels(config, ids).map(({ setting, id }) =>
    warning(
      `${setting}: no backend lists "${id}"; the chat's model chooses tools instead`,
      `Install it, or set ${setting} to one that is listed by GET /v1/models.`,
    ),
  );
  return { findings: [...findings, ...unlistedTaskModels, ...(ids.size === 0 ? [noModels] : [])], ids };
}

const noModels = broken(
  'No model can answer a chat',
  'Repair a backend above, add one with OLLAMA_BASE_URLS or OPENAI_API_BASE_URLS, or set TOOLWHARF_DEMO=true to try tools without a model.',
);

/** The demo model, if it is offered. */
function openDemo(config: Config, entries: readonly BackendConfig[], send: SendOutbound): CatalogBackend[] {
  const opened = createOpenedBackends(config, { send, memory: new RefusalMemory(), elapsed: () => performance.now() });
  return opened.of(entries).filter(({ name }) => !entries.some((entry) => entry.name === name));
}
