import type { JsonObject, JsonValue } from '../shared/json.ts';
import { compileSchema, type FindErrors } from './compile-schema.ts';

/** Texts, because they are handed over many times faster than what they stand for. */
export interface CheckJob {
  schemaText: string;
  valueText: string;
  /** One number, shared: 1 as soon as the schema is compiled. */
  progress: Int32Array;
}

/** Characters of schemas whose compiled form a thread keeps: the one that was not used for the longest time goes first. */
const keptCharacters = 500_000;
const kept = new Map<string, FindErrors>();

/** The check of `check-value` in a worker thread. `unusable`: the schema cannot be compiled. */
export function checkInWorker({ schemaText, valueText, progress }: CheckJob): string[] | 'unusable' {
  const findErrors = kept.get(schemaText) ?? compileSchema(JSON.parse(schemaText) as JsonObject);
  if (findErrors === undefined) return 'unusable';
  keep(schemaText, findErrors);
  Atomics.store(progress, 0, 1);
  return findErrors(JSON.parse(valueText) as JsonValue);
}

function keep(schemaText: string, findErrors: FindErrors): void {
  kept.delete(schemaText);
  kept.set(schemaText, findErrors);
  let characters = 0;
  for (const text of kept.keys()) characters += text.length;
  for (const text of kept.keys()) {
    if (characters <= keptCharacters) return;
    characters -= text.length;
    kept.delete(text);
  }
}
