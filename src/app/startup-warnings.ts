import type { Config } from './config/config.ts';
import { limits } from '../core/limits.ts';
import type { ModelFinder } from '../core/model.ts';
import type { ModelCatalog } from '../models/model-catalog.ts';
import type { ToolServerRecord } from '../core/registry.ts';
import type { ServerNews } from '../tools/servers/reconnect-servers.ts';

/** A server may have a thousand functions. */
const maxNamedFunctions = 20;

/** A log with levels; pino's is one. */
interface FaultLog {
  info: (fields: object, message: string) => void;
  warn: (fields: object, message: string) => void;
}

type TaskModels = Pick<Config, 'taskModel' | 'taskModelExternal'>;

/** Settings that name a model which no backend lists. An Ollama lists a model that was named without a tag as `:latest`. */
export function findUnlistedTaskModels(config: TaskModels, ids: ReadonlySet<string>): { setting: string; id: string }[] {
  const wanted = { TASK_MODEL: config.taskModel, TASK_MODEL_EXTERNAL: config.taskModelExternal };
  return Object.entries(wanted).flatMap(([setting, id]) =>
    id === undefined || ids.has(id) || ids.has(`${id}:latest`) ? [] : [{ setting, id }],
  );
}

/** Says in the log, before a chat meets it, that a task model is not there. Never rejects; takes as long as the slowest list of models. */
export async function warnOfUnlistedTaskModels(config: TaskModels, models: Pick<ModelFinder, 'list'>, log: FaultLog): Promise<void> {
  if (config.taskModel === undefined && config.taskModelExternal === undefined) return;
  const listed = await models.list(AbortSignal.timeout(2 * limits.modelListTimeoutMs)).catch(() => undefined);
  if (listed === undefined) return;
  for (const { setting, id } of findUnlistedTaskModels(config, new Set(listed.map((model) => model.id))))
    log.warn({ setting, model: id }, `${setting}: no backend lists "${id}" just now; the chat's model chooses tools until one does`);
}

/**
 * Says in the log, in one line each, which backends answer, with how many models. Never rejects; takes as long as the slowest list. The Ollama at the
 * default address is only tried: where it is not there, nothing is wrong.
 */
export async function logBackends(
  { backends: configured }: Pick<Config, 'backends'>,
  models: Pick<ModelCatalog, 'backends'>,
  log: FaultLog,
): Promise<void> {
  const reports = await models.backends().catch(() => []);
  for (const { name, state, models: count, error } of reports) {
    const entry = configured.find((backend) => backend.name === name);
    // The demo model.
    if (entry === undefined) continue;
    const subject = `the model backend "${name}"`;
    const facts = { backend: name, url: new URL(entry.url).origin };
    const level = entry.isExplicit ? 'warn' : 'info';
    const status = /HTTP (\d{3})/.exec(error ?? '')?.[1] ?? '401';
    if (state === 'key_refused')
      log.warn(facts, `${subject} refuses the key of this gateway (${status}): check the key that is configured for it`);
    else if (state === 'unreachable') log[level]({ ...facts, reason: error }, `${subject} cannot be reached: chats go on with the others`);
    else if (count === 0) log[level]({ ...facts, models: count }, `${subject} answers, but lists no model`);
    else log.info({ ...facts, models: count }, `${subject} answers: ${count} ${count === 1 ? 'model' : 'models'}`);
  }
}

/** Says in the log what became of registered tool servers, before a chat meets it. */
export function logServerNews(log: FaultLog): (record: ToolServerRecord, news: ServerNews) => void {
  return ({ id, wantedId }, news) => {
    const facts = { tool_server: id };
    const server = `the tool server "${id}"`;
    switch (news.type) {
      case 'broken':
        return log.warn({ ...facts, reason: news.reason }, `${server} cannot be used: chats go on without it`);
      case 'slow':
        return log.warn(facts, `${server} is still being opened: chats go on without it, and have it when that is done`);
      case 'joined':
        return log.info(facts, `${server} is open now: chats have it`);
      case 'mended':
        return log.info(facts, `${server} can be used again`);
      case 'process_ended':
        return log.warn({ ...facts, stderr: news.stderr }, `the process of ${server} has ended; the next call starts it again`);
      case 'notifications_dropped':
        return log.warn(
          facts,
          `${server} sends more than ${limits.mcpNotificationsPerSecond} notifications a second: those beyond it are dropped`,
        );
      case 'held':
        return log.warn(
          { ...facts, functions: news.functions.slice(0, maxNamedFunctions), count: news.functions.length },
          `the definitions of functions of "${id}" have changed since they were first seen: they are left out until an administrator agrees (POST /api/tool-servers/${id}/refresh shows them)`,
        );
      case 'renamed':
        return log.warn({ ...facts, wanted_id: wantedId }, `the tool server "${wantedId}" has the id "${id}" here`);
    }
  };
}
