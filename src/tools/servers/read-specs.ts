import type { ToolSpec } from '../../core/tools/tool.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { legalName } from '../definitions/name-functions.ts';

/** A function as a frontend describes it. */
export interface DescribedFunction {
  /** The frontend's name of the function. */
  operationId: string;
  spec: ToolSpec;
}

/** Positions of nameless functions that are reported; more would add nothing. */
const maxNameless = 10;

/**
 * Reads functions as a frontend describes them (`specs`): flat `{name, description, parameters}`, with or without `type`, or wrapped as `{type:
 * "function", function: {…}}`. `nameless`: the positions of those without a name.
 */
export function readSpecs(specs: readonly JsonObject[]): { usable: DescribedFunction[]; nameless: number[] } {
  const usable: DescribedFunction[] = [];
  const nameless: number[] = [];
  for (const [index, entry] of specs.entries()) {
    const wrapped = ownValue(entry, 'function');
    const { name, description, parameters } = isJsonObject(wrapped) ? wrapped : entry;
    if (typeof name !== 'string' || name === '') nameless.push(index);
    else usable.push({ operationId: name, spec: toSpec(name, description, parameters) });
  }
  return { usable, nameless: nameless.slice(0, maxNameless) };
}

/** Providers reject a function whose parameters are not an object. */
function toSpec(name: string, description: JsonValue | undefined, parameters: JsonValue | undefined): ToolSpec {
  const schema = isJsonObject(parameters) ? parameters : {};
  const properties = ownValue(schema, 'properties');
  return {
    name: legalName(name),
    description: typeof description === 'string' ? description : '',
    parameters: { ...schema, type: 'object', properties: isJsonObject(properties) ? properties : {} },
  };
}
