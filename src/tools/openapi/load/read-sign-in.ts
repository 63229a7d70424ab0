import { isJsonObject, ownValue } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';

/** How a document describes sign-in: its first `oauth2` scheme with the flow of authorization codes, else its `openIdConnect` scheme. */
export type DocumentSignIn =
  | { type: 'oauth2'; authorizeUrl: string; tokenUrl: string; scopes: string[] }
  | { type: 'openIdConnect'; url: string; scopes: string[] };

/** Far more than one consent can name. */
const maxScopes = 100;
/** Of an address or a scope. */
const maxCharacters = 2_000;
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'];

/** OpenAPI 3 and Swagger 2; undefined if the document describes none that the gateway can do. */
export function readSignIn(document: JsonObject): DocumentSignIn | undefined {
  const components = objectAt(document, 'components');
  const schemes = Object.entries(objectAt(document, 'securityDefinitions') ?? objectAt(components, 'securitySchemes') ?? {}).slice(
    0,
    maxScopes,
  );
  for (const [name, scheme] of schemes) {
    if (!isJsonObject(scheme) || scheme['type'] !== 'oauth2') continue;
    const flow = objectAt(objectAt(scheme, 'flows'), 'authorizationCode') ?? (scheme['flow'] === 'accessCode' ? scheme : undefined);
    const [authorizeUrl, tokenUrl] = [textAt(flow, 'authorizationUrl'), textAt(flow, 'tokenUrl')];
    if (authorizeUrl === undefined || tokenUrl === undefined) continue;
    const required = requiredScopes(document, name);
    const offered = Object.keys(objectAt(flow, 'scopes') ?? {})
      .filter(isScope)
      .slice(0, maxScopes);
    return { type: 'oauth2', authorizeUrl, tokenUrl, scopes: required.length > 0 ? required : offered };
  }
  for (const [name, scheme] of schemes) {
    const url = isJsonObject(scheme) && scheme['type'] === 'openIdConnect' ? textAt(scheme, 'openIdConnectUrl') : undefined;
    if (url !== undefined) return { type: 'openIdConnect', url, scopes: requiredScopes(document, name) };
  }
  return undefined;
}

/** What the document and its operations require of a scheme: asking for more than that would be asking for rights that nobody uses. */
function requiredScopes(document: JsonObject, scheme: string): string[] {
  const scopes = new Set<string>();
  const read = (requirements: JsonValue | undefined): void => {
    for (const requirement of Array.isArray(requirements) ? requirements : []) {
      const listed = isJsonObject(requirement) ? ownValue(requirement, scheme) : undefined;
      for (const scope of Array.isArray(listed) ? listed : []) if (scopes.size < maxScopes && isScope(scope)) scopes.add(scope);
    }
  };
  read(ownValue(document, 'security'));
  for (const path of Object.values(objectAt(document, 'paths') ?? {}))
    for (const method of methods) if (isJsonObject(path)) read(ownValue(objectAt(path, method) ?? {}, 'security'));
  return [...scopes];
}

/** RFC 6749, section 3.3. */
function isScope(scope: unknown): scope is string {
  return typeof scope === 'string' && scope.length <= maxCharacters && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope);
}

function objectAt(object: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = object && ownValue(object, key);
  return isJsonObject(value) ? value : undefined;
}

function textAt(object: JsonObject | undefined, key: string): string | undefined {
  const value = object && ownValue(object, key);
  return typeof value === 'string' && value.length <= maxCharacters ? value : undefined;
}
