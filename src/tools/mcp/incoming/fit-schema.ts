import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { hasManyFormalValues } from './bound-validation.ts';
import { misfitPaths } from './find-misfit.ts';

/** How often a value is checked: what one fault hides may be another one. */
const maxRounds = 8;

/**
 * The value without the members that do not fit the schema. Where that does not help, because something required is missing, or where it has so many values
 * that checking takes long, it stays as it is.
 */
export function fitted(schema: Parameters<typeof misfitPaths>[0], value: JsonObject): JsonObject {
  if (hasManyFormalValues(value)) return value;
  let fitting = value;
  for (let round = 0; round < maxRounds; round += 1) {
    const paths = misfitPaths(schema, fitting);
    if (paths === undefined) return fitting;
    const next = paths.reduce<JsonValue>((rest, path) => withoutPath(rest, path), fitting);
    if (next === fitting || !isJsonObject(next)) return value;
    fitting = next;
  }
  return value;
}

/** The same value if there is nothing at the path. An entry of a list that moves because of another one is found in the next round. */
function withoutPath(value: JsonValue, [step, ...rest]: readonly PropertyKey[]): JsonValue {
  if (step === undefined) return value;
  if (Array.isArray(value)) {
    const index = Number(step);
    const entry = value[index];
    if (entry === undefined) return value;
    if (rest.length === 0) return value.toSpliced(index, 1);
    const next = withoutPath(entry, rest);
    return next === entry ? value : value.with(index, next);
  }
  if (!isJsonObject(value)) return value;
  const key = String(step);
  const child = value[key];
  if (child === undefined) return value;
  if (rest.length === 0) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
  const next = withoutPath(child, rest);
  return next === child ? value : { ...value, [key]: next };
}
