import { ownValue } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import { followReferences } from './resolve-references.ts';
import { isSwagger, upgradeRequest, type RequestParts } from './upgrade-swagger.ts';

/**
 * Parameters and body of an operation in the words of OpenAPI 3, whatever the document's version, with the parameters of its path item.
 * @throws OmittedOperation when one of them is a reference that cannot be resolved.
 */
export function readRequestParts(document: JsonObject, pathItem: JsonObject, operation: JsonObject): RequestParts {
  const parameters = mergeParameters([...parametersOf(document, pathItem), ...parametersOf(document, operation)]);
  if (isSwagger(document)) return upgradeRequest(document, operation, parameters);
  return { parameters, requestBody: ownValue(operation, 'requestBody') };
}

function parametersOf(document: JsonObject, owner: JsonObject): JsonObject[] {
  const listed = ownValue(owner, 'parameters');
  const parameters: JsonValue[] = Array.isArray(listed) ? listed : [];
  return parameters.map((parameter) => followReferences(document, parameter)).filter((parameter) => parameter !== undefined);
}

/** The operation's own parameter replaces the path item's of the same name and place. */
function mergeParameters(parameters: readonly JsonObject[]): JsonObject[] {
  const merged = new Map<string, JsonObject>();
  for (const parameter of parameters) merged.set(identityOf(parameter), parameter);
  return [...merged.values()];
}

/** Header names are the same in any case (RFC 9110 section 5.1). */
function identityOf(parameter: JsonObject): string {
  const { name, in: place } = parameter;
  return JSON.stringify([place, place === 'header' && typeof name === 'string' ? name.toLowerCase() : name]);
}
