import type { ConfigChange } from '../../core/chat/chat-config.ts';
import type { ChatEvent } from '../../core/chat/chat.ts';
import type { JsonObject } from '../../shared/json/json.ts';

/** The event that reports a change of the chat's tools, instructions or preset. */
export function configUpdate(data: JsonObject): ChatEvent {
  return { type: 'run-event', event: { type: 'config.update', data } };
}

/** The changes as data of the event, and the time of the change in milliseconds since 1970. */
export function changeData({ toolIds, instructions }: ConfigChange, time: number): JsonObject {
  return {
    created: new Date(time).toISOString(),
    ...(toolIds !== undefined && { tool_ids: toolIds }),
    ...(instructions !== undefined && { instructions }),
  };
}

/** The names of functions that were added and removed. */
export function changesOf(before: readonly string[], now: readonly string[]): { added: string[]; removed: string[] } {
  return { added: now.filter((name) => !before.includes(name)), removed: before.filter((name) => !now.includes(name)) };
}
