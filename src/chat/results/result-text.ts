import type { JsonValue } from '../../shared/json/json.ts';

/** A result as text. Text stays text; other values become JSON, indented because people read it in sources. */
export function textOfResult(value: JsonValue | undefined, { isIndented = true } = {}): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null, null, isIndented ? 2 : undefined);
}
