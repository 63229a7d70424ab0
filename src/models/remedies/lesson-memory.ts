import type { Lesson, LessonKind, LessonScope, RememberedLesson } from '../../core/models/lesson.ts';
import type { LessonMemory, ModelLessons, ModelRequest, Proof, RequestOrigin } from '../../core/models/model.ts';
import { limits } from '../../core/limits.ts';
import { FairMap } from '../../shared/fair-map.ts';
import { hashOf } from './hash-content.ts';
import { judgeProof, ownPartsOf } from './judge-proof.ts';

interface Entry {
  key: string;
  lesson: Lesson;
  backend: string;
  model: string;
  scope: LessonScope;
  callerId: string;
  /** Of the parts that the caller brought; '' for everybody. */
  own: string;
  learnedAt: number;
}

interface RunLessons {
  /** By backend and model. */
  byModel: Map<string, Map<string, Lesson>>;
  shown: Set<string>;
}

const noLessons: readonly Lesson[] = [];

/**
 * The one memory of what refusals have taught about the models of all backends. Nothing lasts longer than an hour, and a caller who teaches many
 * lessons crowds out only their own.
 */
export class RefusalMemory implements LessonMemory {
  readonly #now: () => number;
  readonly #entries = new FairMap<Entry>({ entries: limits.rememberedLessons, characters: limits.rememberedLessonCharacters });
  /** Keys of entries, by backend and model. */
  readonly #keysByModel = new Map<string, Set<string>>();
  readonly #runs = new WeakMap<RequestOrigin, RunLessons>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The lessons about one model of a backend. */
  of(backend: string, model: string): ModelLessons {
    return new LessonsOfModel(this, backend, model);
  }

  /** Whether something is remembered for everybody. */
  holds(backend: string, model: string, kind: LessonKind): boolean {
    return this.#entriesOf(modelKey(backend, model)).some(({ lesson, scope }) => lesson.kind === kind && scope === 'everybody');
  }

  remembered(): RememberedLesson[] {
    return [...this.#keysByModel.keys()].flatMap((key) =>
      this.#entriesOf(key).map(({ lesson, backend, model, scope, learnedAt }) => ({
        ...lesson,
        backend,
        model,
        scope,
        until: learnedAt + limits.lessonMemoryMs,
      })),
    );
  }

  forgetServer(id: string): void {
    this.#forget(({ lesson }) => lesson.servers?.includes(id) === true);
  }

  /** Clears what was learned about a backend that may be another one now. */
  forgetBackend(name: string): void {
    this.#forget(({ backend }) => backend === name);
  }

  recall(backend: string, model: string, { kind, request }: { kind: LessonKind; request: ModelRequest }): readonly Lesson[] {
    const key = modelKey(backend, model);
    const ofRun = request.origin === undefined ? undefined : this.#runs.get(request.origin)?.byModel.get(key);
    if (ofRun === undefined && !this.#keysByModel.has(key)) return noLessons;
    const callerId = callerIdOf(request);
    const found = new Map<string, Lesson>();
    let own: string | undefined;
    for (const entry of this.#entriesOf(key)) {
      if (entry.lesson.kind !== kind) continue;
      if (entry.scope === 'caller') {
        if (entry.callerId !== callerId) continue;
        own ??= hashOf(ownPartsOf(request, entry.lesson));
        if (entry.own !== own) continue;
      }
      found.set(subjectKey(entry.lesson), entry.lesson);
    }
    for (const [subject, lesson] of ofRun ?? []) if (lesson.kind === kind) found.set(subject, lesson);
    return found.size === 0 ? noLessons : [...found.values()];
  }

  learn(backend: string, model: string, { lesson, proof }: { lesson: Lesson; proof: Proof }): void {
    const { request } = proof;
    const callerId = callerIdOf(request);
    const scope = judgeProof(lesson, proof);
    if (scope.type === 'run') {
      if (request.origin === undefined) return;
      const { byModel } = this.#runOf(request.origin);
      const lessons = byModel.get(modelKey(backend, model)) ?? new Map<string, Lesson>();
      byModel.set(modelKey(backend, model), lessons);
      lessons.set(subjectKey(lesson), lesson);
      return;
    }
    const own = scope.type === 'caller' ? scope.own : '';
    const owner = scope.type === 'caller' ? callerId : '';
    const key = JSON.stringify([backend, model, subjectKey(lesson), owner, own]);
    const entry: Entry = { key, lesson, backend, model, scope: scope.type, callerId, own, learnedAt: this.#now() };
    const lost = this.#entries.set(key, { owner: callerId, value: entry, characters: key.length + JSON.stringify(lesson).length });
    const keys = this.#keysByModel.get(modelKey(backend, model)) ?? new Set();
    this.#keysByModel.set(modelKey(backend, model), keys.add(key));
    for (const other of lost) this.#unlist(other);
  }

  isNewTo(lesson: Lesson, { origin }: ModelRequest): boolean {
    if (origin === undefined) return true;
    const { shown } = this.#runOf(origin);
    const { code, message } = lesson.warning;
    const warning = `${code} ${message}`;
    if (shown.has(warning)) return false;
    shown.add(warning);
    return true;
  }

  #runOf(origin: RequestOrigin): RunLessons {
    const known = this.#runs.get(origin) ?? { byModel: new Map(), shown: new Set() };
    this.#runs.set(origin, known);
    return known;
  }

  /** Those that have not expired. */
  #entriesOf(key: string): Entry[] {
    return [...(this.#keysByModel.get(key) ?? [])].flatMap((one) => {
      const entry = this.#entries.get(one);
      if (entry === undefined) return [];
      if (this.#now() - entry.learnedAt <= limits.lessonMemoryMs) return [entry];
      this.#delete(entry);
      return [];
    });
  }

  #forget(isMeant: (entry: Entry) => boolean): void {
    for (const [, entry] of [...this.#entries]) if (isMeant(entry)) this.#delete(entry);
  }

  #delete(entry: Entry): void {
    this.#entries.delete(entry.key);
    this.#unlist(entry);
  }

  #unlist({ key, backend, model }: Entry): void {
    const keys = this.#keysByModel.get(modelKey(backend, model));
    keys?.delete(key);
    if (keys?.size === 0) this.#keysByModel.delete(modelKey(backend, model));
  }
}

/** The lessons of a backend that shares its memory with no other. */
export function ownLessons(): (model: string) => ModelLessons {
  const memory = new RefusalMemory();
  return (model) => memory.of('', model);
}

/** A class, because one is made for each chat. */
class LessonsOfModel implements ModelLessons {
  readonly #memory: RefusalMemory;
  readonly #backend: string;
  readonly #model: string;

  constructor(memory: RefusalMemory, backend: string, model: string) {
    this.#memory = memory;
    this.#backend = backend;
    this.#model = model;
  }

  recall(kind: LessonKind, request: ModelRequest): readonly Lesson[] {
    return this.#memory.recall(this.#backend, this.#model, { kind, request });
  }

  learn(lesson: Lesson, proof: Proof): void {
    this.#memory.learn(this.#backend, this.#model, { lesson, proof });
  }

  isNewTo(lesson: Lesson, request: ModelRequest): boolean {
    return this.#memory.isNewTo(lesson, request);
  }
}

function callerIdOf({ origin }: ModelRequest): string {
  return origin?.callerId ?? '';
}

function modelKey(backend: string, model: string): string {
  return `${backend}\n${model}`;
}

function subjectKey({ kind, subject, content }: Lesson): string {
  return JSON.stringify([kind, subject, content]);
}
