import type { Config } from './config/config.ts';
import { cureOfUnknownVariable } from './config/unknown-variables.ts';
import { keysOfAnotherSecret } from '../admin/derive-key-hash.ts';
import { limits } from '../core/limits.ts';
import type { ModelFinder } from '../core/models/model.ts';
import type { Registry } from '../core/stores/registry.ts';
import type { ModelCatalog } from '../models/catalog/model-catalog.ts';
import type { BackendEntries } from '../storage/backend-entries.ts';

/** A log with levels; pino's is one. */
export interface LeveledLog {
  info: (fields: object, message: string) => void;
  warn: (fields: object, message: string) => void;
}

interface StartedGateway {
  config: Config;
  unknownVariables: readonly string[];
  registry: Pick<Registry, 'listKeys'>;
  models: ModelCatalog;
  backends: Pick<BackendEntries, 'list'>;
}

/** Says what an operator should know of a start, and waits for nothing. */
export function warnAtStart({ config, unknownVariables, registry, models, backends }: StartedGateway, log: LeveledLog): void {
  warnOfUnknownVariables(unknownVariables, log);
  warnOfRecordedPrompts(config, log);
  warnOfWeakAdminKey(config, log);
  void warnOfUselessKeys(config, registry, log);
  void logBackends(backends, models, log);
  void warnOfUnlistedTaskModels(config, models, log);
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

function warnOfUnknownVariables(names: readonly string[], log: LeveledLog): void {
  for (const name of names) log.warn({ setting: name }, `${name} is not a setting and has no effect. ${cureOfUnknownVariable(name)}`);
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

/**
 * Logs one line for each backend: whether it answers, and with how many models. Never rejects; takes as long as the slowest list. If there is no
 * Ollama at the default address, that is no warning.
 */
async function logBackends(entries: StartedGateway['backends'], models: Pick<ModelCatalog, 'backends'>, log: LeveledLog): Promise<void> {
  const reports = await models.backends().catch(() => []);
  const entered = await entries.list();
  for (const { name, state, models: count, error } of reports) {
    const entry = entered.find((backend) => backend.name === name);
    // The demo model is no entry.
    if (entry === undefined) continue;
    const subject = `the model backend "${name}"`;
    const facts = { backend: name, url: new URL(entry.url).origin };
    const level = entry.isExplicit ? 'warn' : 'info';
    const status = /HTTP (\d{3})/.exec(error ?? '')?.[1] ?? '401';
    if (state === 'key_refused')
      log.warn(facts, `${subject} rejects the configured key (${status}): check the key that is configured for it`);
    else if (state === 'secret_unreadable')
      log.warn({ ...facts, reason: error }, `${subject} is left out: its stored secrets cannot be read`);
    else if (state === 'unreachable')
      log[level]({ ...facts, reason: error }, `${subject} cannot be reached: only the other backends can be used`);
    else if (state === 'partly_unreachable')
      log.warn({ ...facts, models: count, reason: error }, `${subject} answers only at some of its addresses`);
    else if (count === 0) log[level]({ ...facts, models: count }, `${subject} answers, but lists no model`);
    else log.info({ ...facts, models: count }, `${subject} answers: ${count} ${count === 1 ? 'model' : 'models'}`);
  }
}
