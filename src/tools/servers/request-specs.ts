import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { ToolSpec } from '../../core/tool.ts';
import { legalName } from '../catalog/name-functions.ts';

export interface SuppliedSpec {
  /** As the frontend calls it. */
  ownName: string;
  spec: ToolSpec;
}

/** A warning for each; more say nothing new. */
const maxNameless = 10;

/**
 * Functions as a frontend describes them (`specs`): flat `{name, description, parameters}`, with or without `type`, or wrapped as
 * `{type: "function", function: {…}}`. `nameless` are the
 * positions of what cannot be called.
 */
export function toSpecs(specs: readonly JsonObject[]): { usable: SuppliedSpec[]; nameless: number[] } {
  const usable: SuppliedSpec[] = [];
  const nameless: number[] = [];
  for (const [index, entry] of specs.entries()) {
    const wrapped = ownValue(entry, 'function');
    const described = isJsonObject(wrapped) ? wrapped : entry;
    const name = ownValue(described, 'name');
    if (typeof name === 'string' && name !== '') usable.push({ ownName: name, spec: toSpec(name, described) });
    else if (nameless.length < maxNameless) nameless.push(index);
  }
  return { usable, nameless };
}

function toSpec(name: string, described: JsonObject): ToolSpec {
  const description = ownValue(described, 'description');
  return {
    name: legalName(name),
    description: typeof description === 'string' ? description : '',
    parameters: toParameters(ownValue(described, 'parameters')),
  };
}

/** Providers refuse a function whose parameters are not an object. */
function toParameters(parameters: JsonValue | undefined): JsonObject {
  if (!isJsonObject(parameters)) return { type: 'object', properties: {} };
  const properties = ownValue(parameters, 'properties');
  return { ...parameters, type: 'object', properties: isJsonObject(properties) ? properties : {} };
}
