import { ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { spendOnNames, spendOnValue, type Spend } from '../conversion-budget.ts';
import type { ListedOperation } from './list-operations.ts';
import { followReferences } from '../document/resolve-references.ts';
import { isSwagger, upgradeRequest, type RequestParts } from '../document/upgrade-swagger.ts';

/**
 * Parameters and body of an operation in the words of OpenAPI 3, whatever the document's version, with the parameters of its path item.
 * What that takes is spent: path items and parameters may be shared by thousands of operations.
 * @throws OmittedOperation when one of them is a reference that cannot be resolved.
 */
export function readRequestParts(
  document: JsonObject,
  { pathItem, operation }: Pick<ListedOperation, 'pathItem' | 'operation'>,
  spend: Spend,
): RequestParts {
  const own = [pathItem, operation].flatMap((owner) => parametersOf(document, owner, spend));
  const parameters = mergeParameters(own);
  if (isSwagger(document)) return upgradeRequest(document, operation, parameters);
  return { parameters, requestBody: ownValue(operation, 'requestBody') };
}

function parametersOf(document: JsonObject, owner: JsonObject, spend: Spend): JsonObject[] {
  const listed = ownValue(owner, 'parameters');
  const parameters: JsonValue[] = Array.isArray(listed) ? listed : [];
  spend(parameters.length);
  const followed = parameters
    .map((parameter) => followReferences(document, parameter, spend))
    .filter((parameter) => parameter !== undefined);
  for (const parameter of followed) {
    spendOnNames(Object.keys(parameter), spend);
    for (const key of ['in', 'name']) spendOnValue(ownValue(parameter, key), spend);
  }
  return followed;
}

/** The operation's own parameter replaces the path item's of the same name and location. */
function mergeParameters(parameters: readonly JsonObject[]): JsonObject[] {
  const merged = new Map<string, JsonObject>();
  for (const parameter of parameters) merged.set(identityOf(parameter), parameter);
  return [...merged.values()];
}

/** Header names are the same in any case (RFC 9110 section 5.1). */
function identityOf(parameter: JsonObject): string {
  const { name, in: location } = parameter;
  return JSON.stringify([location, location === 'header' && typeof name === 'string' ? name.toLowerCase() : name]);
}
