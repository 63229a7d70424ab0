import { LRUCache } from 'lru-cache';

import type { JsonObject, JsonValue } from '../shared/json.ts';
import { compileSchema, type FindErrors } from './compile-schema.ts';

/** JSON text, because sending text to a worker is many times faster than sending objects. */
export interface CheckJob {
  schemaText: string;
  valueText: string;
  /** A shared number: 1 as soon as the schema is compiled. */
  progress: Int32Array;
}

/** Compiled schemas of this thread, by text. */
const compiled = new LRUCache<string, FindErrors>({ maxSize: 500_000, sizeCalculation: (_findErrors, schemaText) => schemaText.length });

/** The check of `check-value` in a worker thread. `unusable`: the schema cannot be compiled. */
export function checkInWorker({ schemaText, valueText, progress }: CheckJob): string[] | 'unusable' {
  const findErrors = compiled.get(schemaText) ?? compileSchema(JSON.parse(schemaText) as JsonObject);
  if (findErrors === undefined) return 'unusable';
  compiled.set(schemaText, findErrors);
  Atomics.store(progress, 0, 1);
  return findErrors(JSON.parse(valueText) as JsonValue);
}
