import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { ToolSpec } from '../../core/tool.ts';

/** A provider's own tools are run by the provider, whatever the mode: they go along with the answer. */
export function hostedTools(callerTools: readonly JsonObject[]): JsonObject[] {
  return callerTools.filter((entry) => !isJsonObject(entry['function']));
}

/** The caller's own functions in the words of the gateway's. */
export function callerSpecs(callerTools: readonly JsonObject[]): ToolSpec[] {
  return callerTools.flatMap((entry) => {
    const wire = entry['function'];
    if (!isJsonObject(wire) || typeof wire['name'] !== 'string') return [];
    const parameters = isJsonObject(wire['parameters']) ? wire['parameters'] : { type: 'object', properties: {}, required: [] };
    return [{ name: wire['name'], description: typeof wire['description'] === 'string' ? wire['description'] : '', parameters }];
  });
}
