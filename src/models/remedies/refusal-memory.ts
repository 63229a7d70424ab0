import type { Lesson, LessonKind, LessonScope, RememberedLesson } from '../../core/models/lesson.ts';
import type { LessonMemory, ModelLessons, ModelRequest, Proof, RequestOrigin } from '../../core/models/model.ts';
import { keyIdOf } from '../../core/callers/people.ts';
import { FairMap } from '../../shared/fairness/fair-map.ts';
import { hashOf } from './hash-content.ts';
import { judgeProof, ownHashes } from './judge-proof.ts';

/** What is remembered of the refusals of all backends; most gateways learn a handful of things. */
export const rememberedLessons = 1_000;

/** How long it is remembered what a backend refused: it may have been updated since. */
export const lessonMemoryMs = 60 * 60 * 1000;
const rememberedLessonCharacters = 4 * 1024 * 1024;

interface Entry {
  key: string;
  group: string;
  lesson: Lesson;
  model: ModelKey;
  scope: LessonScope;
  /** Of the parts that the caller brought. Undefined: the lesson holds whatever the caller brings. */
  own: string | undefined;
  /** What the lesson for one caller proves. Undefined: nothing about the requests of others. */
  evidence: Evidence | undefined;
  learnedAt: number;
}

/** A refusal that one caller saw and whose words do not show that their request caused it. */
interface Evidence {
  keyId: string;
  messages: string;
}

interface ModelKey {
  backend: string;
  model: string;
}

interface RunLessons {
  byKey: Map<string, { lesson: Lesson; model: ModelKey }>;
  /** Warnings that the run has shown. */
  shown: Set<string>;
}

const noLessons: readonly Lesson[] = [];
const everybody = '';

/**
 * The one memory of what refusals have taught about the models of all backends. Nothing lasts longer than an hour, and a caller who teaches many
 * lessons crowds out only their own.
 */
export class RefusalMemory implements LessonMemory {
  readonly #now: () => number;
  readonly #entries = new FairMap<Entry>({ entries: rememberedLessons, characters: rememberedLessonCharacters });
  /** Keys of entries that the same requests have to look at: of one model, one kind, and one caller or everybody. */
  readonly #groups = new Map<string, Set<string>>();
  readonly #runs = new WeakMap<RequestOrigin, RunLessons>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The lessons about one model of a backend. */
  of(backend: string, model: string): ModelLessons {
    return new LessonsOfModel(this, { backend, model });
  }

  /** Whether something is remembered for everybody, or for all requests of this caller. */
  holds(model: ModelKey, kind: LessonKind, callerId?: string): boolean {
    if (this.#groups.size === 0) return false;
    if (this.#entriesOf(groupKey(model, kind, everybody)).length > 0) return true;
    return callerId !== undefined && this.#entriesOf(groupKey(model, kind, oneCaller(callerId))).some(({ own }) => own === undefined);
  }

  remembered(): RememberedLesson[] {
    return [...this.#entries].flatMap(([, entry]) => {
      if (this.#deleteIfExpired(entry)) return [];
      const { lesson, model, scope, learnedAt } = entry;
      return [{ ...lesson, ...model, scope, until: learnedAt + lessonMemoryMs }];
    });
  }

  forgetServer(id: string): void {
    this.#forget(({ lesson }) => lesson.servers?.includes(id) === true);
  }

  forgetAllOf(ownerId: string): void {
    for (const entry of this.#entries.deleteAllOf(ownerId)) this.#ungroup(entry);
  }

  /** Clears what was learned about a backend that may be another one now. */
  forgetBackend(name: string): void {
    this.#forget(({ model }) => model.backend === name);
  }

  /** Whether something may be remembered for this request. */
  mayRecall({ origin }: Pick<ModelRequest, 'origin'>): boolean {
    return this.#groups.size > 0 || (origin !== undefined && this.#runs.has(origin));
  }

  recall(model: ModelKey, kind: LessonKind, request: ModelRequest): readonly Lesson[] {
    if (!this.mayRecall(request)) return noLessons;
    const ofRun = request.origin === undefined ? undefined : this.#runs.get(request.origin);
    const found = new Map(this.#entriesOf(groupKey(model, kind, everybody)).map(({ lesson }) => [subjectKey(lesson), lesson]));
    const ofCaller = this.#entriesOf(groupKey(model, kind, oneCaller(callerIdOf(request))));
    const own = ofCaller.some((entry) => entry.own !== undefined) ? ownHashes(request, { kind }) : [];
    for (const entry of ofCaller) if (entry.own === undefined || own.includes(entry.own)) found.set(subjectKey(entry.lesson), entry.lesson);
    for (const { lesson, model: learned } of ofRun?.byKey.values() ?? []) {
      if (lesson.kind === kind && isSameModel(learned, model)) found.set(subjectKey(lesson), lesson);
    }
    return found.size === 0 ? noLessons : [...found.values()];
  }

  learn(model: ModelKey, lesson: Lesson, proof: Proof): void {
    const { request } = proof;
    const proven = judgeProof(lesson, proof);
    if (proven.type === 'run') {
      if (request.origin !== undefined)
        this.#runOf(request.origin).byKey.set(JSON.stringify([model.backend, model.model, subjectKey(lesson)]), { lesson, model });
      return;
    }
    const owner = callerIdOf(request);
    const own = proven.type === 'caller' ? proven.own : undefined;
    const isLossless = proof.rule === 'lossless';
    const evidence = own === undefined && !isLossless ? { keyId: keyIdOf(owner), messages: hashOf(request.messages) } : undefined;
    const scope = isLossless || (evidence !== undefined && this.#confirm(model, lesson, evidence)) ? 'everybody' : 'caller';
    const group = groupKey(model, lesson.kind, scope === 'everybody' ? everybody : oneCaller(owner));
    const key = JSON.stringify([group, subjectKey(lesson), own]);
    const entry: Entry = { key, group, lesson, model, scope, own, evidence, learnedAt: this.#now() };
    const lost = this.#entries.set(key, { owner, value: entry, characters: key.length + JSON.stringify(lesson).length });
    this.#groups.set(group, (this.#groups.get(group) ?? new Set()).add(key));
    for (const other of lost) this.#ungroup(other);
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

  /**
   * Whether another key has learned the same from another request; what was known for single callers is then superseded. One refusal is not enough,
   * because a server may call a model unable where it means only this request, such as a long one.
   */
  #confirm(model: ModelKey, lesson: Lesson, evidence: Evidence): boolean {
    const same = [...this.#entries].flatMap(([, entry]) => {
      const isSame =
        isSameModel(entry.model, model) && subjectKey(entry.lesson) === subjectKey(lesson) && entry.lesson.change === lesson.change;
      return isSame && entry.scope === 'caller' && entry.evidence !== undefined && !this.#deleteIfExpired(entry) ? [entry] : [];
    });
    const isConfirmed = same.some(({ evidence: other }) => other?.keyId !== evidence.keyId && other?.messages !== evidence.messages);
    if (isConfirmed) for (const entry of same) this.#delete(entry);
    return isConfirmed;
  }

  #runOf(origin: RequestOrigin): RunLessons {
    const known = this.#runs.get(origin) ?? { byKey: new Map(), shown: new Set() };
    this.#runs.set(origin, known);
    return known;
  }

  #entriesOf(group: string): Entry[] {
    const keys = this.#groups.get(group);
    if (keys === undefined) return [];
    return [...keys].flatMap((key) => {
      const entry = this.#entries.get(key);
      return entry === undefined || this.#deleteIfExpired(entry) ? [] : [entry];
    });
  }

  #deleteIfExpired(entry: Entry): boolean {
    // A clock that is set back must not make it last longer.
    const isExpired = Math.abs(this.#now() - entry.learnedAt) > lessonMemoryMs;
    if (isExpired) this.#delete(entry);
    return isExpired;
  }

  #forget(isMeant: (entry: Entry) => boolean): void {
    for (const [, entry] of this.#entries) if (isMeant(entry)) this.#delete(entry);
  }

  #delete(entry: Entry): void {
    this.#entries.delete(entry.key);
    this.#ungroup(entry);
  }

  #ungroup({ key, group }: Entry): void {
    const keys = this.#groups.get(group);
    keys?.delete(key);
    if (keys?.size === 0) this.#groups.delete(group);
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
  readonly #model: ModelKey;

  constructor(memory: RefusalMemory, model: ModelKey) {
    this.#memory = memory;
    this.#model = model;
  }

  mayRecall(request: Pick<ModelRequest, 'origin'>): boolean {
    return this.#memory.mayRecall(request);
  }

  recall(kind: LessonKind, request: ModelRequest): readonly Lesson[] {
    return this.#memory.recall(this.#model, kind, request);
  }

  learn(lesson: Lesson, proof: Proof): void {
    this.#memory.learn(this.#model, lesson, proof);
  }

  isNewTo(lesson: Lesson, request: ModelRequest): boolean {
    return this.#memory.isNewTo(lesson, request);
  }
}

function callerIdOf({ origin }: ModelRequest): string {
  return origin?.callerId ?? '';
}

function isSameModel(one: ModelKey, other: ModelKey): boolean {
  return one.backend === other.backend && one.model === other.model;
}

function oneCaller(id: string): string {
  return `caller ${id}`;
}

function groupKey({ backend, model }: ModelKey, kind: LessonKind, whose: string): string {
  return JSON.stringify([backend, model, kind, whose]);
}

function subjectKey({ kind, subject, content }: Lesson): string {
  return JSON.stringify([kind, subject, content]);
}
