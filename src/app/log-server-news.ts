import { limits } from '../core/limits.ts';
import type { ToolServerRecord } from '../core/stores/registry.ts';
import type { ServerNews } from '../tools/servers/reconnect-servers.ts';
import type { LeveledLog } from './startup-warnings.ts';

/** Functions named in one log line; a server may have a thousand. */
const maxNamedFunctions = 20;

/** Logs the state of registered tool servers when it changes. */
export function logServerNews(log: LeveledLog): (record: ToolServerRecord, news: ServerNews) => void {
  return ({ id, wantedId }, news) => {
    const facts = { tool_server: id };
    const server = `the tool server "${id}"`;
    switch (news.type) {
      case 'broken':
        return log.warn({ ...facts, reason: news.reason }, `${server} cannot be used: chats run without its functions`);
      case 'slow':
        return log.warn(facts, `${server} is slow to open: chats run without its functions until it is open`);
      case 'opened':
        return log.info(facts, `${server} is open now: chats can use its functions`);
      case 'recovered':
        return log.info(facts, `${server} works again`);
      case 'process_ended':
        return log.warn({ ...facts, stderr: news.stderr }, `the process of ${server} has exited; the next call starts it again`);
      case 'notifications_dropped':
        return log.warn(
          facts,
          `${server} sends more than ${limits.mcpNotificationsPerSecond} notifications a second: those beyond it are dropped`,
        );
      case 'functions_held':
        return log.warn(
          { ...facts, functions: news.functions.slice(0, maxNamedFunctions), count: news.functions.length },
          `functions of "${id}" have changed their definition since they were first seen: they are not offered until an administrator accepts them (POST /api/tool-servers/${id}/refresh shows them)`,
        );
      case 'renamed':
        return log.warn({ ...facts, wanted_id: wantedId }, `the tool server "${wantedId}" is registered under the id "${id}"`);
    }
  };
}
