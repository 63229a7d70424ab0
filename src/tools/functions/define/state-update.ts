import type { PlainJsonValue as JsonValue } from '../../../shared/json/json.ts';
import type { StateUpdate } from './function-definition.ts';
import { toJson } from './return-values.ts';

/**
 * What `state.set` makes of a key's value. A value is copied now, because its object may change later; a function is applied after the change
 * `before` of the same call.
 */
export function toStateUpdate(change: JsonValue | undefined | StateUpdate, before: StateUpdate | undefined): StateUpdate {
  if (typeof change === 'function') return (value) => toStateValue(change(before === undefined ? value : before(value)));
  const fixed = toStateValue(change);
  return () => structuredClone(fixed);
}

function toStateValue(value: unknown): JsonValue | undefined {
  return value === undefined ? undefined : toJson(value);
}
