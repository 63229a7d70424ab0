import type { CallToolResult } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';

/** The extension of the protocol version of 2026 (SEP-2663), which clients declare with each request. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** What a server does for a call that it has not answered yet, as it says itself. In 2025-11-25 the fields of time have no unit in their names. */
export interface McpTask {
  id: string;
  status: string;
  /** What is being done, for people. */
  message?: string;
  /** After how many milliseconds it wants to be asked again. */
  pollMs?: number;
}

/** Where a task passes the SDK, which has no support for them and refuses what is no result of a call. */
export const hiddenTask = 'toolwharf/task';

/** The answer to a call as a result with a task in it; undefined if it is none (`CreateTaskResult`). */
export function hideTask(result: JsonObject): JsonObject | undefined {
  const { resultType, task, _meta: meta } = result;
  const given = isJsonObject(task) ? task : resultType === 'task' ? result : undefined;
  if (given === undefined || typeof given['taskId'] !== 'string') return undefined;
  const { _meta: _own, resultType: _type, ...shown } = given;
  return { resultType: 'complete', content: [], _meta: { ...(isJsonObject(meta) && meta), [hiddenTask]: shown } };
}

/** The task that a call has become. */
export function takeTask({ _meta: meta }: CallToolResult): McpTask | undefined {
  const hidden = meta?.[hiddenTask];
  return isJsonObject(hidden) ? readTask(hidden) : undefined;
}

export function readTask(given: JsonObject): McpTask | undefined {
  const { taskId: id, status = 'working', statusMessage: message, pollIntervalMs = null, pollInterval = null } = given;
  if (typeof id !== 'string' || typeof status !== 'string') return undefined;
  const pollMs = [pollIntervalMs, pollInterval].find((value): value is number => typeof value === 'number' && value >= 0);
  return { id, status, ...withoutUndefined({ message: textOf(message), pollMs }) };
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
