import { isJsonObject, ownValue } from '../core/json.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import { limits } from '../core/limits.ts';
import type { ToolSpec } from '../core/tool.ts';
import { legalName } from './name-functions.ts';

export interface SuppliedSpec {
  /** As the frontend calls it. */
  ownName: string;
  spec: ToolSpec;
}

/**
 * Functions as a frontend describes them (`specs`): flat `{name, description, parameters}`, with or without `type`, or wrapped as
 * `{type: "function", function: {…}}`. More than a request can offer is not read.
 */
export function toSpecs(specs: readonly JsonObject[]): { usable: SuppliedSpec[]; problems: string[] } {
  const usable: SuppliedSpec[] = [];
  const problems: string[] = [];
  for (const [index, entry] of specs.entries()) {
    const wrapped = ownValue(entry, 'function');
    const described = isJsonObject(wrapped) ? wrapped : entry;
    const name = ownValue(described, 'name');
    if (typeof name === 'string' && name !== '') usable.push({ ownName: name, spec: toSpec(name, described) });
    else if (problems.length < limits.toolsPerRequest) problems.push(`specs.${index} has no name.`);
  }
  return { usable, problems };
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
