import type { JsonObject } from '../../shared/json/json.ts';

/**
 * The key in a request's `parameters` that lists the names of those which a dialect has made of fields of another protocol. Its clients send them with
 * every request, and cannot know what a backend refuses: one that refuses them is asked without.
 */
export const derivedParameters = 'derived_parameters';

/** Parameters, of which a backend may go without those in `derived`. */
export function withDerived(parameters: JsonObject, derived: JsonObject): JsonObject {
  const names = Object.keys(derived);
  return names.length === 0 ? parameters : { ...parameters, ...derived, [derivedParameters]: names };
}

/** The parameters without that list, which is the gateway's own. */
export function withoutDerivedList(parameters: JsonObject): JsonObject {
  if (parameters[derivedParameters] === undefined) return parameters;
  const { [derivedParameters]: _names, ...rest } = parameters;
  return rest;
}

/** The names of those that a request has. */
export function derivedNames(parameters: JsonObject): readonly string[] {
  const names = parameters[derivedParameters];
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
}
