import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ModelEvent } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Lesson } from '../../core/models/lesson.ts';
import type { ModelBackend, ModelLessons, ModelRequest } from '../../core/models/model.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { withRemedies } from '../../shared/refusals/with-remedies.ts';
import { EmptyAnswer, isSpoken } from '../constrain-output.ts';
import { wordsOf } from './refusal-wordings.ts';
import type { Recognised, Refused, Remedy } from './remedy.ts';

/** A change that this request has taught, if it succeeds with it. */
type Learned = Omit<Recognised, 'also'> & { remedy: Remedy; refused: ModelRequest; words: string };

/** The changes that are made to a request. */
interface Changes {
  /** Those that were remembered from earlier requests. */
  recalled: readonly Lesson[];
  made: readonly Lesson[];
  learned: readonly Learned[];
}

const noChanges: Changes = { recalled: [], made: [], learned: [] };

/**
 * A backend whose refusals are answered with remedies: the request is changed and repeated, and what helped is remembered as far as it is proven.
 * Each remedy bounds its repeats, and a refusal that points at nothing is answered once. Only before the first event: no text is ever emitted twice.
 */
export function applyRemedies(
  backend: ModelBackend,
  remedies: readonly Remedy[],
  about: { lessonsOf: (model: string) => ModelLessons; provider?: string | undefined },
): ModelBackend {
  return new RemediedBackend(backend, remedies, about);
}

class RemediedBackend implements ModelBackend {
  readonly provider: string | undefined;
  readonly #backend: ModelBackend;
  readonly #remedies: readonly Remedy[];
  readonly #lessonsOf: (model: string) => ModelLessons;
  readonly #maxRepeats: number;

  constructor(backend: ModelBackend, remedies: readonly Remedy[], { lessonsOf, provider }: Parameters<typeof applyRemedies>[2]) {
    this.provider = provider;
    this.#backend = backend;
    this.#remedies = remedies;
    this.#lessonsOf = lessonsOf;
    this.#maxRepeats = remedies.reduce((sum, remedy) => sum + remedy.maxRepeats, 0);
  }

  answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    const lessons = this.#lessonsOf(request.model);
    const known = this.#recall(request, lessons);
    let recognise: Recognise | undefined;
    return withRemedies(
      known === undefined ? noChanges : { recalled: known, made: known, learned: [] },
      (changes, emitNext: Emit<ModelEvent>) => this.#attempt(request, changes, emitNext),
      {
        emit,
        maxRepeats: this.#maxRepeats,
        ...(request.output !== undefined && { isAnswer: isSpoken }),
        remedy: async (error, changes): Promise<Changes | undefined> => {
          if (!(error instanceof GatewayError || error instanceof EmptyAnswer)) return undefined;
          const { made, recalled } = changes;
          recognise ??= createRecogniser(this.#remedies);
          const steps = recognise(error, { request, sent: this.#changed(request, made), made, recalled });
          const [first] = steps;
          if (first === undefined) return undefined;
          request.signal.throwIfAborted();
          const next = steps.reduce(withStep, changes);
          const purpose: ModelRequest['purpose'] = { type: 'answer', ...request.purpose, reason: first.reason ?? first.remedy.reason };
          request.onRepeat?.({ ...this.#changed(request, next.made), purpose }, error instanceof GatewayError ? error : undefined);
          const taught = steps.filter(({ memory }) => memory === undefined).map(({ lesson }) => lesson);
          await emit(warningsAbout(taught, request, lessons));
          return next;
        },
      },
    );
  }

  /** The remembered lessons about this request, or about what others of them make of it; undefined if there are none. */
  #recall(request: ModelRequest, lessons: ModelLessons): readonly Lesson[] | undefined {
    if (!lessons.mayRecall(request)) return undefined;
    let found: readonly Lesson[] | undefined;
    let changed = request;
    for (const remedy of this.#remedies) {
      let known: readonly Lesson[] | undefined;
      for (const kind of remedy.kinds) {
        const ofKind = lessons.recall(kind, request);
        if (ofKind.length > 0) known = [...(known ?? []), ...ofKind.filter((lesson) => remedy.concerns(lesson, changed))];
      }
      if (known === undefined || known.length === 0) continue;
      found = [...(found ?? []), ...known];
      for (const lesson of known) changed = remedy.change(changed, lesson);
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

  #attempt(request: ModelRequest, changes: Changes, emit: Emit<ModelEvent>): Promise<void> {
    return changes.made.length === 0 ? this.#backend.answer(request, emit) : this.#attemptChanged(request, changes, emit);
  }

  async #attemptChanged(request: ModelRequest, { recalled, made, learned }: Changes, emit: Emit<ModelEvent>): Promise<void> {
    const lessons = this.#lessonsOf(request.model);
    const warnings = warningsAbout(
      recalled.filter((lesson) => made.includes(lesson)),
      request,
      lessons,
    );
    if (warnings.length > 0) await emit(warnings);
    await this.#backend.answer(this.#changed(request, made), emit);
    for (const { lesson, pointsAt, words, refused, rule } of learned)
      lessons.learn(lesson, { request: refused, pointsAt, words, ...(rule && { rule }) });
  }
}

type Failed = Omit<Refused, 'refusal' | 'repeats'>;
type Recognise = (failure: GatewayError | EmptyAnswer, failed: Failed) => Learned[];

/** Finds the remedy for each failure of one request, within the repeats that each remedy allows. Empty: there is none. */
function createRecogniser(remedies: readonly Remedy[]): Recognise {
  const repeats = new Map<Remedy, number>();
  let isGuessed = false;
  return (failure, failed) => {
    for (const remedy of remedies) {
      const count = repeats.get(remedy) ?? 0;
      if (count >= remedy.maxRepeats) continue;
      const how = { ...failed, repeats: count };
      const recognised =
        failure instanceof GatewayError
          ? remedy.recognise({ ...how, refusal: failure })
          : remedy.recogniseSilence?.({ ...how, silence: failure });
      if (recognised === undefined) continue;
      const isGuess = recognised.pointsAt === undefined && remedy.mayGuess !== true;
      if (isGuess && isGuessed) continue;
      isGuessed ||= isGuess;
      repeats.set(remedy, count + 1);
      const { also, ...step } = recognised;
      const words = failure instanceof GatewayError ? wordsOf(failure) : '';
      return [step, ...(also === undefined ? [] : [also])].map((one) => ({ ...one, remedy, refused: failed.request, words }));
    }
    return [];
  };
}

function withStep({ recalled, made, learned }: Changes, step: Learned): Changes {
  const isOther = (lesson: Lesson): boolean => !isSameSubject(lesson, step.lesson);
  const others = step.memory === 'keep' ? learned : learned.filter(({ lesson }) => isOther(lesson));
  return { recalled, made: [...made.filter(isOther), step.lesson], learned: step.memory === undefined ? [...others, step] : others };
}

function isSameSubject(one: Lesson, other: Lesson): boolean {
  return one.kind === other.kind && one.subject === other.subject && one.content === other.content;
}

function warningsAbout(made: readonly Lesson[], request: ModelRequest, lessons: ModelLessons): ModelEvent[] {
  return made.filter((lesson) => lessons.isNewTo(lesson, request)).map(({ warning }) => warningEvent(warning));
}
