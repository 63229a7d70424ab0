import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import type { ModelRequest } from '../../core/models/model.ts';
import type { ToolSpec } from '../../core/tools/tool.ts';

/**
 * Removes all functions from a request, so that the model answers with text. A provider's own tools stay, because the provider runs them in any mode.
 */
export function withoutFunctions(request: ModelRequest): ModelRequest {
  const hostedTools = request.callerTools.filter((entry) => !isJsonObject(entry['function']));
  return { ...request, tools: [], callerTools: hostedTools, toolChoice: undefined, parallelToolCalls: undefined };
}

/** Converts the caller's functions to the gateway's format. */
export function callerSpecs(callerTools: readonly JsonObject[]): ToolSpec[] {
  return callerTools.flatMap((entry) => {
    const wire = entry['function'];
    if (!isJsonObject(wire) || typeof wire['name'] !== 'string') return [];
    const parameters = isJsonObject(wire['parameters']) ? wire['parameters'] : { type: 'object', properties: {}, required: [] };
    return [{ name: wire['name'], description: typeof wire['description'] === 'string' ? wire['description'] : '', parameters }];
  });
}
