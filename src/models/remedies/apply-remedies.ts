import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ModelEvent } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Lesson } from '../../core/models/lesson.ts';
import type { ModelBackend, ModelLessons, ModelRequest } from '../../core/models/model.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { withRemedies } from '../../shared/refusals/with-remedies.ts';
import { wordsOf } from './refusal-wordings.ts';
import type { Recognised, Refused, Remedy } from './remedy.ts';

/** A change that this request has taught, if it succeeds with it. */
type Learned = Recognised & { remedy: Remedy; refused: ModelRequest; words: string };

/** The changes that are made to a request. */
interface Changes {
  made: readonly Lesson[];
  learned: readonly Learned[];
}

const noChanges: Changes = { made: [], learned: [] };

/**
 * A backend whose refusals are answered with remedies: the request is changed and repeated, and what helped is remembered as far as it is proven.
 * Each remedy bounds its repeats, and a refusal that points at nothing is answered once. Only before the first event: no text is ever emitted twice.
 */
export function applyRemedies(
  backend: ModelBackend,
  remedies: readonly Remedy[],
  lessonsOf: (model: string) => ModelLessons,
): ModelBackend {
  return new RemediedBackend(backend, remedies, lessonsOf);
}

class RemediedBackend implements ModelBackend {
  readonly #backend: ModelBackend;
  readonly #remedies: readonly Remedy[];
  readonly #lessonsOf: (model: string) => ModelLessons;

  constructor(backend: ModelBackend, remedies: readonly Remedy[], lessonsOf: (model: string) => ModelLessons) {
    this.#backend = backend;
    this.#remedies = remedies;
    this.#lessonsOf = lessonsOf;
  }

  answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    const lessons = this.#lessonsOf(request.model);
    const known = this.#recall(request, lessons);
    const recognise = createRecogniser(this.#remedies);
    return withRemedies(
      known === undefined ? noChanges : { made: known, learned: [] },
      (changes, emitNext: Emit<ModelEvent>) => this.#attempt(request, changes, emitNext),
      {
        emit,
        maxRepeats: this.#remedies.reduce((sum, remedy) => sum + remedy.maxRepeats, 0),
        remedy: async (error, { made, learned }): Promise<Changes | undefined> => {
          if (!(error instanceof GatewayError)) return undefined;
          const next = recognise({ refusal: error, request, sent: this.#changed(request, made), made });
          if (next === undefined) return undefined;
          request.signal.throwIfAborted();
          const isReplaced = ({ lesson }: Pick<Learned, 'lesson'>): boolean => isSameSubject(lesson, next.lesson);
          const nextMade = [...made.filter((lesson) => !isReplaced({ lesson })), next.lesson];
          const purpose: ModelRequest['purpose'] = { type: 'answer', ...request.purpose, reason: next.remedy.reason };
          request.onRepeat?.({ ...this.#changed(request, nextMade), purpose }, error);
          await emit(warningsAbout([next.lesson], request, lessons));
          return { made: nextMade, learned: [...learned.filter((one) => !isReplaced(one)), next] };
        },
      },
    );
  }

  /** The remembered lessons about this request; undefined if there are none. */
  #recall(request: ModelRequest, lessons: ModelLessons): readonly Lesson[] | undefined {
    let found: readonly Lesson[] | undefined;
    for (const remedy of this.#remedies) {
      for (const kind of remedy.kinds) {
        const known = lessons.recall(kind, request);
        if (known.length > 0) found = [...(found ?? []), ...known.filter((lesson) => remedy.concerns(lesson, request))];
      }
    }
    return found;
  }

  /** The changes are made in the order of the remedies, whatever the order in which they were learned: some build on others. */
  #changed(request: ModelRequest, made: readonly Lesson[]): ModelRequest {
    let changed = request;
    for (const remedy of this.#remedies)
      for (const lesson of made) if (remedy.kinds.includes(lesson.kind)) changed = remedy.change(changed, lesson);
    return changed;
  }

  #attempt(request: ModelRequest, { made, learned }: Changes, emit: Emit<ModelEvent>): Promise<void> {
    if (made.length === 0) return this.#backend.answer(request, emit);
    return this.#attemptChanged(request, { made, learned }, emit);
  }

  async #attemptChanged(request: ModelRequest, { made, learned }: Changes, emit: Emit<ModelEvent>): Promise<void> {
    const lessons = this.#lessonsOf(request.model);
    const recalled = made.filter((lesson) => !learned.some((one) => one.lesson === lesson));
    const warnings = warningsAbout(recalled, request, lessons);
    if (warnings.length > 0) await emit(warnings);
    await this.#backend.answer(this.#changed(request, made), emit);
    for (const { lesson, pointsAt, words, refused, rule } of learned)
      lessons.learn(lesson, { request: refused, pointsAt, words, ...(rule && { rule }) });
  }
}

/** Finds the remedy for each refusal of one request, within the repeats that each remedy allows. */
function createRecogniser(remedies: readonly Remedy[]): (refused: Omit<Refused, 'repeats'>) => Learned | undefined {
  const repeats = new Map<Remedy, number>();
  let isGuessed = false;
  return (refused) => {
    for (const remedy of remedies) {
      const count = repeats.get(remedy) ?? 0;
      const recognised = count < remedy.maxRepeats ? remedy.recognise({ ...refused, repeats: count }) : undefined;
      if (recognised === undefined || (recognised.pointsAt === undefined && isGuessed)) continue;
      isGuessed ||= recognised.pointsAt === undefined;
      repeats.set(remedy, count + 1);
      return { ...recognised, remedy, refused: refused.request, words: wordsOf(refused.refusal) };
    }
    return undefined;
  };
}

function isSameSubject(one: Lesson, other: Lesson): boolean {
  return one.kind === other.kind && one.subject === other.subject && one.content === other.content;
}

function warningsAbout(made: readonly Lesson[], request: ModelRequest, lessons: ModelLessons): ModelEvent[] {
  return made.filter((lesson) => lessons.isNewTo(lesson, request)).map(({ warning }) => warningEvent(warning));
}
