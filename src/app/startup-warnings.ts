import { createModelLister } from './compose/opened-backends.ts';
import type { Config } from './config/config.ts';
import { isInContainer } from './doctor/container-loopback.ts';
import { describeBackend } from './doctor/describe-backend.ts';
import { examinePresets } from './doctor/examine-presets.ts';
import { count as countOf, ok } from './doctor/finding.ts';
import { keysOfAnotherSecret } from '../admin/derive-key-hash.ts';
import type { Finding } from '../core/finding.ts';
import { limits } from '../core/limits.ts';
import type { ModelFinder } from '../core/models/model.ts';
import type { SendOutbound } from '../core/outbound.ts';
import type { PresetFinder } from '../core/stores/preset.ts';
import type { Registry } from '../core/stores/registry.ts';
import type { ModelCatalog } from '../models/catalog/model-catalog.ts';
import { verifyBackend } from '../models/catalog/verify-backend.ts';
import { asSentence } from '../shared/text/as-sentence.ts';
import type { BackendEntries } from '../storage/backend-entries.ts';
import { historyToolId } from '../tools/catalog/history-tool.ts';
import type { FunctionRegistry } from '../tools/functions/load/function-registry.ts';

/** A log with levels; pino's is one. */
export interface LeveledLog {
  info: (fields: object, message: string) => void;
  warn: (fields: object, message: string) => void;
}

interface StartedGateway {
  config: Config;
  /** Settings without effect. */
  variables: readonly Finding[];
  registry: Pick<Registry, 'listKeys' | 'listToolServers'>;
  models: ModelCatalog;
  backends: Pick<BackendEntries, 'list'>;
  presets: Pick<PresetFinder, 'list'>;
  /** The loaded functions. */
  functions: () => Promise<FunctionRegistry>;
  send: SendOutbound;
}

/** Ids of functions that the gateway itself offers. */
export function ownToolIds({ storeChats }: Pick<Config, 'storeChats'>): string[] {
  return storeChats ? [historyToolId] : [];
}

/** A finding of the doctor as a line of the log. */
function logFinding(log: LeveledLog, { level, text, cure }: Finding, facts: object): void {
  const isBad = level === 'warning' || level === 'broken';
  log[isBad ? 'warn' : 'info'](facts, cure === undefined ? text : `${asSentence(text)} ${cure}`);
}

/** Says what an operator should know of a start, and waits for nothing. */
export function warnAtStart(started: StartedGateway, log: LeveledLog): void {
  const { config, variables, registry, models } = started;
  for (const finding of variables) logFinding(log, finding, {});
  warnOfRecordedPrompts(config, log);
  warnOfWeakAdminKey(config, log);
  void warnOfUselessKeys(config, registry, log);
  void logBackends(started, log);
  void warnOfUnlistedTaskModels(config, models, log);
  void warnOfPresets(started, log);
}

type TaskModels = Pick<Config, 'taskModel' | 'taskModelExternal'>;

/** Settings that name a model which no backend lists. Ollama lists a model without a tag as `:latest`. */
export function findUnlistedTaskModels(config: TaskModels, ids: ReadonlySet<string>): { setting: string; id: string }[] {
  const wanted = { TASK_MODEL: config.taskModel, TASK_MODEL_EXTERNAL: config.taskModelExternal };
  return Object.entries(wanted).flatMap(([setting, id]) =>
    id === undefined || ids.has(id) || ids.has(`${id}:latest`) ? [] : [{ setting, id }],
  );
}

/** Warns at the start about task models that no backend lists. Never rejects; takes as long as the slowest list of models. */
async function warnOfUnlistedTaskModels(config: TaskModels, models: Pick<ModelFinder, 'list'>, log: LeveledLog): Promise<void> {
  if (config.taskModel === undefined && config.taskModelExternal === undefined) return;
  const listed = await models.list(AbortSignal.timeout(2 * limits.modelListTimeoutMs)).catch(() => undefined);
  if (listed === undefined) return;
  for (const { setting, id } of findUnlistedTaskModels(config, new Set(listed.map((model) => model.id))))
    log.warn(
      { setting, model: id },
      `${setting}: no backend lists the model "${id}" at the moment; until one does, the chat's own model selects tools`,
    );
}

/** Nothing slows down an attacker who tries keys, so a shorter one can be guessed. */
const guessableCharacters = 16;

/** The problem with `TOOLWHARF_ADMIN_KEY`, and the fix. Undefined if there is none. */
export function weakAdminKey({ adminKey }: Pick<Config, 'adminKey'>): { problem: string; cure: string } | undefined {
  if (adminKey === undefined || adminKey.length >= guessableCharacters) return undefined;
  return {
    problem: `TOOLWHARF_ADMIN_KEY has only ${adminKey.length} characters, so anyone who can reach the gateway could guess it`,
    cure: 'Set it to the output of `openssl rand -hex 24`.',
  };
}

function warnOfWeakAdminKey(config: Pick<Config, 'adminKey'>, log: LeveledLog): void {
  const weak = weakAdminKey(config);
  if (weak !== undefined) log.warn({ setting: 'TOOLWHARF_ADMIN_KEY', cure: weak.cure }, weak.problem);
}

/** Without this line nobody would see why every client is refused, after a restore without the secret for example. Never rejects. */
async function warnOfUselessKeys({ secret }: Pick<Config, 'secret'>, registry: Pick<Registry, 'listKeys'>, log: LeveledLog): Promise<void> {
  const keys = await registry.listKeys().catch(() => []);
  const useless = keysOfAnotherSecret(keys, secret);
  if (useless.length === 0) return;
  log.warn(
    { setting: 'TOOLWHARF_SECRET' },
    `${useless.length} of ${keys.length} stored keys were made with another secret and are refused: restore the file "secret" of the data folder or ` +
      'TOOLWHARF_SECRET as it was, or make new keys with TOOLWHARF_ADMIN_KEY',
  );
}

/** Warns at each start, because users may not know. */
function warnOfRecordedPrompts({ recordPrompts }: Pick<Config, 'recordPrompts'>, log: LeveledLog): void {
  if (!recordPrompts) return;
  const message =
    'RECORD_PROMPTS is on: what users ask and models answer is recorded word by word for 24 hours, and administrators can read it at GET /api/runs/{id}';
  log.warn({ setting: 'RECORD_PROMPTS' }, message);
}

/** Problems of presets, which chats would show only when somebody uses them. Never rejects; takes as long as the slowest list of models. */
async function warnOfPresets({ presets, models, registry, functions, config }: StartedGateway, log: LeveledLog): Promise<void> {
  const all = await presets.list().catch(() => []);
  if (all.length === 0) return;
  const listed = await models.list(AbortSignal.timeout(2 * limits.modelListTimeoutMs)).catch(() => undefined);
  const toolServers = await Promise.resolve(registry.listToolServers()).catch(() => undefined);
  if (toolServers === undefined) return;
  const known = {
    models: listed && new Set(listed.map(({ id }) => id)),
    toolServers,
    functions: await functions().catch(() => undefined),
    ownTools: ownToolIds(config),
  };
  const findings = await examinePresets(all, known);
  for (const finding of findings) if (finding.level !== 'ok') logFinding(log, { ...finding, text: `preset ${finding.text}` }, {});
}

/**
 * Logs whether each backend answers, and with how many models, in the words of the doctor. Never rejects; takes as long as the slowest list. If there is
 * no Ollama at the default address, that is no warning.
 */
async function logBackends({ backends, models, config, send }: StartedGateway, log: LeveledLog): Promise<void> {
  const reports = await models.backends().catch(() => []);
  const entries = await Promise.resolve(backends.list()).catch(() => []);
  const listerOf = createModelLister(config, { send, signal: new AbortController().signal });
  const logBackend = async ({ name, state, models: count }: (typeof reports)[number]): Promise<void> => {
    const entry = entries.find((backend) => backend.name === name);
    // The demo model is no entry.
    if (entry === undefined) return;
    const isFine = state === 'ok' && count > 0;
    const findings = isFine
      ? [ok(`${name}: ${countOf(count, 'model')}`)]
      : await describeBackend(entry, await verifyBackend(entry, listerOf(entry)), isInContainer() ? send : undefined);
    for (const finding of findings)
      logFinding(log, { ...finding, text: `model backend ${finding.text}` }, { backend: name, models: count });
  };
  await Promise.all(reports.map((report) => logBackend(report).catch(() => undefined)));
}
