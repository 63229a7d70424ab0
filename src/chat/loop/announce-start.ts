import type { ChatEvent } from '../../core/chat/chat.ts';
import type { DataOf } from '../../core/chat/run-event.ts';
import { changesOf, configUpdate } from '../config/config-update.ts';

/** How one preset's part of a run begins. */
export type Announcement =
  /** The run starts. `model`: as the request names it; `events`: what follows at once. */
  | { type: 'start'; model: string; events: readonly ChatEvent[] }
  /** The preset takes over from another. `time`: in milliseconds since 1970. */
  | { type: 'handoff'; preset: string; functionsBefore: readonly string[]; time: number };

/** The events that announce the start. `data`: the run, its mode, and the names of its functions. */
export function startEvents(announcement: Announcement, { run_id, ...data }: Omit<DataOf<'run.start'>, 'model'>): ChatEvent[] {
  if (announcement.type === 'start') {
    const { model, events } = announcement;
    return [{ type: 'run-event', event: { type: 'run.start', data: { run_id, model, ...data } } }, ...events];
  }
  const { preset, functionsBefore, time } = announcement;
  const changes = { ...changesOf(functionsBefore, data.functions ?? []), preset, created: new Date(time).toISOString() };
  return [configUpdate({ run_id, model: preset, ...data, ...changes })];
}
