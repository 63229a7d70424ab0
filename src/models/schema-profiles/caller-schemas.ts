import type { SchemaForm } from '../../core/models/model.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { simplifyOnce } from './simplify-parameters.ts';
import { toProfile, type SchemaProfile } from './to-profile.ts';

const noParameters: JsonObject = { type: 'object', properties: {} };

/** The name of a caller's function; undefined for an entry that is something else, such as a provider's own tool. */
export function nameOfFunction(entry: JsonObject): string | undefined {
  const name = isJsonObject(entry['function']) ? entry['function']['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/**
 * A caller's function with its schema in another form, without `strict`: in OpenAI's strict form the model would have to give arguments that are not
 * in the caller's schema.
 */
export function convertCallerFunction(entry: JsonObject, form: SchemaForm, profile: SchemaProfile): JsonObject {
  const { function: own } = entry;
  if (!isJsonObject(own)) return entry;
  const { strict: _strict, ...rest } = own;
  const given = isJsonObject(own['parameters']) ? withType(own['parameters']) : noParameters;
  const parameters = form === 'simple' ? simplifyOnce(given) : (toProfile(given, withoutStrict(profile)).parameters ?? noParameters);
  return { ...entry, function: { ...rest, parameters } };
}

/** Whether a function changes by being converted to a profile. */
export function changesInProfile({ function: own }: JsonObject, profile: SchemaProfile): boolean {
  if (!isJsonObject(own)) return false;
  const { parameters, strict } = own;
  return withoutStrict(profile) !== 'plain' || strict === true || !isJsonObject(parameters) || parameters['type'] === undefined;
}

function withoutStrict(profile: SchemaProfile): SchemaProfile {
  return profile === 'openai' ? 'plain' : profile;
}

function withType(parameters: JsonObject): JsonObject {
  return parameters['type'] === undefined ? { ...parameters, type: 'object' } : parameters;
}
