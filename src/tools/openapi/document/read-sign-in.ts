import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import type { DocumentSignIn } from '../../definitions/opened-server.ts';
import { scopesIn } from '../../definitions/scopes.ts';

/** Far more than a document has. */
const maxSchemes = 100;
/** Characters of an address. */
const maxCharacters = 2_000;
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'];

/** OpenAPI 3 and Swagger 2; undefined if the document describes none that the gateway can do. */
export function readSignIn(document: JsonObject): DocumentSignIn | undefined {
  const components = objectAt(document, 'components');
  const schemes = Object.entries(objectAt(document, 'securityDefinitions') ?? objectAt(components, 'securitySchemes') ?? {}).slice(
    0,
    maxSchemes,
  );
  for (const [name, scheme] of schemes) {
    if (!isJsonObject(scheme) || scheme['type'] !== 'oauth2') continue;
    const flow = objectAt(objectAt(scheme, 'flows'), 'authorizationCode') ?? (scheme['flow'] === 'accessCode' ? scheme : undefined);
    const [authorizeUrl, tokenUrl] = [textAt(flow, 'authorizationUrl'), textAt(flow, 'tokenUrl')];
    if (authorizeUrl === undefined || tokenUrl === undefined) continue;
    const required = requiredScopes(document, name);
    const offered = Object.keys(objectAt(flow, 'scopes') ?? {});
    return { type: 'oauth2', authorizeUrl, tokenUrl, scopes: required.length > 0 ? required : scopesIn(offered) };
  }
  for (const [name, scheme] of schemes) {
    const url = isJsonObject(scheme) && scheme['type'] === 'openIdConnect' ? textAt(scheme, 'openIdConnectUrl') : undefined;
    if (url !== undefined) return { type: 'openIdConnect', url, scopes: requiredScopes(document, name) };
  }
  return undefined;
}

/** The scopes that the document and its operations require. Requesting more would ask for rights that are never used. */
function requiredScopes(document: JsonObject, scheme: string): string[] {
  return scopesIn(scopesListed(document, scheme));
}

function* scopesListed(document: JsonObject, scheme: string): Generator<JsonValue> {
  const operations = Object.values(objectAt(document, 'paths') ?? {}).flatMap((path) =>
    isJsonObject(path) ? methods.map((method) => objectAt(path, method)) : [],
  );
  for (const owner of [document, ...operations]) {
    const requirements = owner && ownValue(owner, 'security');
    for (const requirement of Array.isArray(requirements) ? requirements : []) {
      const listed = isJsonObject(requirement) ? ownValue(requirement, scheme) : undefined;
      if (Array.isArray(listed)) yield* listed;
    }
  }
}

function objectAt(object: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = object && ownValue(object, key);
  return isJsonObject(value) ? value : undefined;
}

function textAt(object: JsonObject | undefined, key: string): string | undefined {
  const value = object && ownValue(object, key);
  return typeof value === 'string' && value.length <= maxCharacters ? value : undefined;
}
