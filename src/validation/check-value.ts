import { setImmediate as nextTick } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { JsonObject, JsonValue } from '../shared/json/json.ts';
import { runInWorker } from '../workers/run-in-worker.ts';
import { jobOf, TookTooLong, TookTooMuchMemory } from '../workers/worker-pool.ts';
import { TooManyWaiting } from '../workers/waiting-jobs.ts';
import type { checkInWorker } from './check-job.ts';
import { compileSchema, type FindErrors } from './compile-schema.ts';
import { OutOfSteps } from './count-steps.ts';
import { isWithin } from './is-within.ts';
import { partForValue } from './part-for-value.ts';
import { isTrustedSchema } from './trusted-schemas.ts';

/** The caller, for fair use of worker threads, and a signal that ends the check. */
export interface CheckingFor {
  caller: string;
  signal?: AbortSignal | undefined;
}

/**
 * `faulty`: with sentences that a model can act on. `too_large`: the value is too large to be checked. `unchecked`: the check was not finished, which is
 * no fault of the value; the reason is a sentence without its subject, such as "takes longer than 1 s".
 */
export type ValueCheck =
  | { type: 'fits' }
  | { type: 'faulty'; errors: string[] }
  | { type: 'too_large' }
  | { type: 'unchecked'; reason: string };

/** The schema was not compiled: it has too many characters, or compiling it takes too long. */
type NotCompiled = { type: 'not_compiled'; reason: string | undefined };

/** Larger schemas are not compiled as a whole. */
const schemaCharacters = 200_000;
/** Processor time for one check, and for compiling each thousand characters of its schema. */
const checkMs = 1_000;
const compileMsPerThousand = 10;
/** Larger values take too long to send to a worker. */
const workerLimits = { values: 100_000, characters: 2_000_000 };
/** A schema that a worker compiles in this time is compiled on the main thread too. */
const cheapCompileMs = 10;
/** A check on the main thread that needs more begins anew in a worker. They take about half a millisecond. */
const stepsInPlace = 5_000;
/** Characters of the schemas that are remembered by their text. */
const rememberedCharacters = 2_000_000;

const checkJob = jobOf<typeof checkInWorker>(new URL('./check-job.ts', import.meta.url), 'checkInWorker');

/** What is known of all schemas with the same text. */
interface KnownSchema {
  readonly text: string;
  /**
   * Where values are checked. `untried`: in a worker, which then says what compiling the schema costs. `worker`: compiling it was not cheap. `main`: it
   * was, or the schema is trusted. `parts`: compiling it takes too long. `nowhere`: it cannot be compiled.
   */
  place: 'untried' | 'worker' | 'main' | 'parts' | 'nowhere';
  /** Compiled on the main thread. */
  findErrors: FindErrors | undefined;
  /** The first check of each caller, while it is under way. */
  readonly trials: Map<string, Promise<unknown>>;
}

/** As long as the schema object exists. */
const knownByObject = new WeakMap<JsonObject, KnownSchema | 'outsized'>();
/** The document of a request has the same schemas each time, and other objects. */
const knownByText = new LRUCache<string, KnownSchema>({ maxSize: rememberedCharacters, sizeCalculation: (_known, text) => text.length });

/**
 * Checks a value against a JSON Schema. No estimate decides where. A schema from outside is compiled in a worker first, together with the first check;
 * later checks are made on the main thread if compiling it was cheap there. A check on the main thread counts its steps, because what it costs depends on the
 * value too, and one that needs too many begins anew in a worker, where it has a time limit. A schema that takes too long to compile is
 * checked in the part that concerns the value. With a schema that cannot be compiled every value fits, because the receiver of the value checks it too.
 * @throws the signal's reason
 */
export async function checkValue(value: JsonValue, schema: JsonObject, checkingFor: CheckingFor): Promise<ValueCheck> {
  const known = knownByObject.get(schema) ?? examine(schema);
  // Nearly all checks end here, without a further promise.
  const inPlace = known === 'outsized' || known.findErrors === undefined ? undefined : checkInPlace(value, known.findErrors);
  if (inPlace !== undefined) return inPlace;
  const check = await checkWhole(value, { schema, known }, checkingFor);
  if (check.type !== 'not_compiled') return check;
  const part = partForValue(schema, value);
  if (part.type === 'too_much') return { type: 'too_large' };
  if (part.type === 'inseparable') return check.reason === undefined ? { type: 'fits' } : { type: 'unchecked', reason: check.reason };
  const ofPart = await checkWhole(value, { schema: part.schema, known: examine(part.schema) }, checkingFor);
  if (ofPart.type !== 'not_compiled') return ofPart;
  // The part of a value with thousands of members may be too large itself.
  return ofPart.reason === undefined ? { type: 'too_large' } : { type: 'unchecked', reason: ofPart.reason };
}

async function checkWhole(
  value: JsonValue,
  { schema, known }: { schema: JsonObject; known: KnownSchema | 'outsized' },
  checkingFor: CheckingFor,
): Promise<ValueCheck | NotCompiled> {
  if (known === 'outsized') return { type: 'not_compiled', reason: undefined };
  const { caller, signal } = checkingFor;
  if (known.place === 'untried') {
    const trial = known.trials.get(caller);
    if (trial === undefined) return tryOut(known, caller, checkInPool(value, known, checkingFor));
    // Another call of the round has the same function.
    await trial;
    signal?.throwIfAborted();
  }
  switch (known.place) {
    case 'nowhere':
      return { type: 'fits' };
    case 'parts':
      return { type: 'not_compiled', reason: tookTooLong(known) };
    case 'main': {
      const findErrors = known.findErrors ?? (await compileInTurn(known, schema));
      if (findErrors === undefined) return { type: 'fits' };
      return checkInPlace(value, findErrors) ?? checkInPool(value, known, checkingFor);
    }
    case 'untried':
    case 'worker':
      return checkInPool(value, known, checkingFor);
  }
}

function examine(schema: JsonObject): KnownSchema | 'outsized' {
  const known = toKnown(schema);
  knownByObject.set(schema, known);
  return known;
}

function toKnown(schema: JsonObject): KnownSchema | 'outsized' {
  if (!isWithin(schema, { values: schemaCharacters, characters: schemaCharacters })) return 'outsized';
  const text = JSON.stringify(schema);
  if (text.length > schemaCharacters) return 'outsized';
  const known: KnownSchema = knownByText.get(text) ?? { text, place: 'untried', findErrors: undefined, trials: new Map() };
  if (known.place === 'untried' && isTrustedSchema(schema)) known.place = 'main';
  knownByText.set(text, known);
  return known;
}

async function tryOut(known: KnownSchema, caller: string, check: Promise<ValueCheck | NotCompiled>): Promise<ValueCheck | NotCompiled> {
  known.trials.set(
    caller,
    check.catch(() => undefined),
  );
  try {
    return await check;
  } finally {
    known.trials.delete(caller);
  }
}

/** Undefined if the check takes too many steps. */
function checkInPlace(value: JsonValue, findErrors: FindErrors): ValueCheck | undefined {
  try {
    return toCheck(findErrors(value, stepsInPlace));
  } catch (error) {
    if (error instanceof OutOfSteps) return undefined;
    throw error;
  }
}

function toCheck(errors: string[]): ValueCheck {
  return errors.length === 0 ? { type: 'fits' } : { type: 'faulty', errors };
}

let lastCompiled: Promise<unknown> = Promise.resolve();

/** Compiles one schema per tick of the event loop: a round of calls may need dozens of new ones, of a few milliseconds each. */
function compileInTurn(known: KnownSchema, schema: JsonObject): Promise<FindErrors | undefined> {
  const compiling = lastCompiled.then(() => {
    if (known.findErrors !== undefined || known.place === 'nowhere') return known.findErrors;
    known.findErrors = compileSchema(schema);
    if (known.findErrors === undefined) known.place = 'nowhere';
    return known.findErrors;
  });
  lastCompiled = compiling.then(() => nextTick());
  return compiling;
}

async function checkInPool(value: JsonValue, known: KnownSchema, { caller, signal }: CheckingFor): Promise<ValueCheck | NotCompiled> {
  if (!isWithin(value, workerLimits)) return { type: 'too_large' };
  /** Set to 1 by the job when the schema is compiled. */
  const progress = new Int32Array(new SharedArrayBuffer(4));
  try {
    const data = { schemaText: known.text, valueText: JSON.stringify(value), progress };
    const report = await runInWorker({ job: checkJob, data, caller, signal, timeoutMs: timeLimit(known) });
    if (report.type === 'unusable') {
      known.place = 'nowhere';
      return { type: 'fits' };
    }
    if (known.place !== 'main') known.place = report.compileMs <= cheapCompileMs ? 'main' : 'worker';
    return toCheck(report.errors);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof TooManyWaiting) return { type: 'unchecked', reason: 'has to wait behind too many other checks' };
    const isTooMuch = error instanceof TookTooLong || error instanceof TookTooMuchMemory;
    const reason = error instanceof TookTooMuchMemory ? 'takes too much memory' : isTooMuch ? tookTooLong(known) : 'ended without a result';
    if (!isTooMuch || Atomics.load(progress, 0) === 1) return { type: 'unchecked', reason };
    // The schema alone takes too long.
    if (known.place === 'untried') known.place = 'parts';
    return { type: 'not_compiled', reason };
  }
}

function timeLimit({ text }: KnownSchema): number {
  return checkMs + Math.ceil(text.length / 1_000) * compileMsPerThousand;
}

function tookTooLong(known: KnownSchema): string {
  return `takes longer than ${timeLimit(known) / 1_000} s`;
}
