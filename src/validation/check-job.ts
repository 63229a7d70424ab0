import { LRUCache } from 'lru-cache';

import type { JsonObject, JsonValue } from '../shared/json/json.ts';
import { compileSchema, type FindErrors } from './compile-schema.ts';
import { parseExactly } from '../shared/json/parse-exactly.ts';

/** JSON text, because sending text to a worker is many times faster than sending objects. */
interface CheckJob {
  schemaText: string;
  valueText: string;
  /** A shared number: 1 as soon as the schema is compiled. */
  progress: Int32Array;
}

/** `compileMs`: what compiling the schema has cost. */
type CheckReport = { type: 'checked'; errors: string[]; compileMs: number } | { type: 'unusable' };

interface CompiledSchema {
  findErrors: FindErrors;
  compileMs: number;
}

/** Compiled schemas of this thread, by text. */
const compiled = new LRUCache<string, CompiledSchema>({ maxSize: 500_000, sizeCalculation: (_compiled, schemaText) => schemaText.length });

/** A first measurement in between may have been taken while the compiler itself was still cold, so a second one is taken. */
const worthRepeating = { aboveMs: 5, belowMs: 100 };

/** The check of `check-value` in a worker thread. `unusable`: the schema cannot be compiled. */
export function checkInWorker({ schemaText, valueText, progress }: CheckJob): CheckReport {
  const schema = compiled.get(schemaText) ?? compileAndMeasure(parseExactly(schemaText) as JsonObject);
  if (schema === undefined) return { type: 'unusable' };
  compiled.set(schemaText, schema);
  Atomics.store(progress, 0, 1);
  return { type: 'checked', errors: schema.findErrors(parseExactly(valueText) as JsonValue), compileMs: schema.compileMs };
}

function compileAndMeasure(schema: JsonObject): CompiledSchema | undefined {
  const first = measure(schema);
  if (first === undefined || first.compileMs < worthRepeating.aboveMs || first.compileMs > worthRepeating.belowMs) return first;
  const second = measure(schema);
  return second !== undefined && second.compileMs < first.compileMs ? second : first;
}

function measure(schema: JsonObject): CompiledSchema | undefined {
  const [began, usedBefore] = [performance.now(), processorMs()];
  const findErrors = compileSchema(schema);
  if (findErrors === undefined) return undefined;
  // The clock also counts what other processes do, and the processor time of some systems is coarse.
  return { findErrors, compileMs: Math.min(performance.now() - began, processorMs() - usedBefore) };
}

/** Of this thread. Not before Node 23.9. */
function processorMs(): number {
  if (process.threadCpuUsage === undefined) return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
