import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject, JsonValue } from '../shared/json.ts';
import { runAside } from '../workers/run-aside.ts';
import { jobOf, TookTooLong, TookTooMuchMemory, TooManyWaiting } from '../workers/worker-pool.ts';
import type { checkInWorker } from './check-job.ts';
import { compileSchema, type FindErrors } from './compile-schema.ts';
import { partForValue } from './part-for-value.ts';
import { isCheapCheck, isSmallSchema, isWithin } from './work-bound.ts';

/** The caller, for fair use of worker threads, and a signal that ends the check. */
export interface CheckingFor {
  caller: string;
  signal?: AbortSignal | undefined;
}

/**
 * `faulty`: with sentences that a model can act on. `unchecked`: the check was stopped, because schema and value together are too expensive; the
 * reason is a sentence without its subject, such as "takes longer than 1 s to check".
 */
export type ValueCheck = { type: 'fits' } | { type: 'faulty'; errors: string[] } | { type: 'unchecked'; reason: string };

/** Of a larger schema, because compiling it is too expensive, only the part that concerns the value is compiled. */
const schemaCharacters = 200_000;
/** Time limits for one check, and for compiling each thousand characters of a large schema. */
const checkMs = 1_000;
const compileMsPerThousand = 10;
/** Larger values take too long to send to a worker. */
const workerLimits = { values: 100_000, characters: 2_000_000 };

const tooLarge = 'is too large to be checked';

const checkJob = jobOf<typeof checkInWorker>(new URL('./check-job.ts', import.meta.url), 'checkInWorker');

/** Cached by schema object, so as long as its tool exists. `outsized`: too large to be compiled. `unusable`: the schema is not checked. */
type KnownSchema =
  | { type: 'small'; findErrors: FindErrors | undefined }
  | { type: 'large'; text: string }
  | { type: 'outsized' }
  | { type: 'unusable' };
const known = new WeakMap<JsonObject, KnownSchema>();

/**
 * Checks a value against an untrusted JSON Schema: on the main thread if an upper bound says that it takes at most a few hundred microseconds, otherwise
 * in a worker with a time limit. With a schema that cannot be compiled every value fits, because the receiver of the value checks it too.
 * @throws the signal's reason
 */
export async function checkValue(value: JsonValue, schema: JsonObject, { caller, signal }: CheckingFor): Promise<ValueCheck> {
  const facts = known.get(schema) ?? examine(schema);
  if (facts.type === 'unusable') return { type: 'fits' };
  if (facts.type === 'outsized') {
    const part = partForValue(schema, value);
    if (part.type === 'inseparable') return { type: 'fits' };
    // The part of a value with thousands of members may be too large itself.
    if (part.type === 'too_much' || examine(part.schema).type === 'outsized') return { type: 'unchecked', reason: tooLarge };
    return checkValue(value, part.schema, { caller, signal });
  }
  if (facts.type === 'large' || !isCheapCheck(schema, value)) return checkAside(value, schema, { caller, signal });
  const findErrors = facts.findErrors ?? (await compileInTurn(schema));
  return findErrors === undefined ? { type: 'fits' } : toCheck(findErrors(value));
}

function examine(schema: JsonObject): KnownSchema {
  const facts = factsOf(schema);
  known.set(schema, facts);
  return facts;
}

function factsOf(schema: JsonObject): KnownSchema {
  if (isSmallSchema(schema)) return { type: 'small', findErrors: undefined };
  if (!isWithin(schema, { values: schemaCharacters, characters: schemaCharacters })) return { type: 'outsized' };
  const text = JSON.stringify(schema);
  return text.length > schemaCharacters ? { type: 'outsized' } : { type: 'large', text };
}

function toCheck(errors: string[]): ValueCheck {
  return errors.length === 0 ? { type: 'fits' } : { type: 'faulty', errors };
}

let lastCompiled: Promise<unknown> = Promise.resolve();

/** Compiles one schema per turn of the event loop: a round of calls may need dozens of new ones, of a few milliseconds each. */
function compileInTurn(schema: JsonObject): Promise<FindErrors | undefined> {
  const compiling = lastCompiled.then(() => {
    const facts = known.get(schema);
    if (facts?.type === 'small' && facts.findErrors !== undefined) return facts.findErrors;
    const findErrors = compileSchema(schema);
    known.set(schema, findErrors === undefined ? { type: 'unusable' } : { type: 'small', findErrors });
    return findErrors;
  });
  lastCompiled = compiling.then(() => nextTurn());
  return compiling;
}

async function checkAside(value: JsonValue, schema: JsonObject, { caller, signal }: CheckingFor): Promise<ValueCheck> {
  if (!isWithin(value, workerLimits)) return { type: 'unchecked', reason: tooLarge };
  const facts = known.get(schema);
  const schemaText = facts?.type === 'large' ? facts.text : JSON.stringify(schema);
  const timeoutMs = checkMs + (facts?.type === 'large' ? (schemaText.length / 1_000) * compileMsPerThousand : 0);
  /** Set to 1 by the job when the schema is compiled. */
  const progress = new Int32Array(new SharedArrayBuffer(4));
  try {
    const errors = await runAside({
      job: checkJob,
      data: { schemaText, valueText: JSON.stringify(value), progress },
      caller,
      signal,
      timeoutMs,
    });
    if (errors === 'unusable') known.set(schema, { type: 'unusable' });
    return errors === 'unusable' ? { type: 'fits' } : toCheck(errors);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof TooManyWaiting) return { type: 'unchecked', reason: 'waits behind too many other checks; try again later' };
    const isTooMuch = error instanceof TookTooLong || error instanceof TookTooMuchMemory;
    if (isTooMuch && facts?.type === 'large' && Atomics.load(progress, 0) === 0) {
      // The schema is too expensive, whatever the value.
      known.set(schema, { type: 'unusable' });
      return { type: 'fits' };
    }
    if (error instanceof TookTooLong) return { type: 'unchecked', reason: `takes longer than ${timeoutMs / 1_000} s to check` };
    if (error instanceof TookTooMuchMemory) return { type: 'unchecked', reason: 'takes too much memory to check' };
    return { type: 'unchecked', reason: 'cannot be checked' };
  }
}
