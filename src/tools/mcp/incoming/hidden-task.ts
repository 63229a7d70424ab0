import type { CallToolResult } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';

/** The extension of the protocol version of 2026 (SEP-2663), which clients declare with each request. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** What a server reports about a call that it has not answered yet. In 2025-11-25 the names of time fields have no unit. */
export interface McpTask {
  id: string;
  status: string;
  /** What is being done, for people. */
  message?: string;
  /** After how many milliseconds it wants to be asked again. */
  pollMs?: number;
}

/** Carries a task through the SDK, which does not support tasks and rejects anything but the result of a call. */
export const hiddenTask = 'toolwharf/task';

/** The answer to a call as a result that contains a task. Undefined if it is not a `CreateTaskResult`. */
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

/** What `readTask` needs to follow the task in another process. */
export function storedTask({ id, pollMs }: McpTask): JsonObject {
  return { taskId: id, ...(pollMs !== undefined && { pollIntervalMs: pollMs }) };
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
