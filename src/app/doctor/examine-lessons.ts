import type { Finding } from '../../core/finding.ts';
import { describeLesson, type RememberedLesson } from '../../core/models/lesson.ts';
import type { LessonMemory } from '../../core/models/model.ts';
import { note, warning } from './finding.ts';

/** More of them say little that is new. */
const shownLessons = 20;

/** The changes that the gateway currently makes to requests, because backends have refused them without. */
export function examineLessons(memory: LessonMemory | undefined): Finding[] {
  const lessons = memory?.remembered() ?? [];
  const rest = lessons.length - shownLessons;
  const more = rest > 0 ? [note(`${rest} more changes that backends require`)] : [];
  return [...lessons.slice(0, shownLessons).map(toFinding), ...more];
}

function toFinding(lesson: RememberedLesson): Finding {
  const { kind, servers = [] } = lesson;
  const isAboutFunctions = kind === 'function' || kind === 'functions';
  if (!isAboutFunctions) return note(describeLesson(lesson));
  const sooner = servers.map((id) => `POST /api/tool-servers/${id}/refresh`).join(', ');
  const cure = `Simplify the schema, or use another model${sooner === '' ? '' : `; to try again sooner: ${sooner}`}.`;
  return warning(describeLesson(lesson), cure);
}
