import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { spendOnNames, spendOnValue, BudgetSpent, type Spend } from '../conversion-budget.ts';
import type { CredentialLocation, CredentialSet } from '../../definitions/operation.ts';
import { isReservedHeader, isToken } from '../request-rules.ts';
import { tryFollow } from '../document/resolve-references.ts';

/** No document that was seen has more alternatives. */
const maxAlternatives = 32;
const maxTogether = 8;
/** `must be prepended with "token"`, `with required prefix "Token"`: how authors describe what OpenAPI has no field for. */
const prefixWords = /(?:prefix|prefixed with|prepended with)\s+["'`]([A-Za-z]{1,20})["'`]/i;
const nameCharacters = 256;

/** The credentials that a document declares. */
export interface SecuritySchemes {
  /** As `header:x-api-key`: what must not become an argument. */
  withheld: ReadonlySet<string>;
  /** The requirements of an operation: its own `security`, else the document's, else any one of the schemes. */
  alternativesFor(operation: JsonObject): CredentialSet[] | undefined;
}

/** Never throws: a scheme that cannot be read withholds nothing, and no operation depends on it. */
export function readSecurity(document: JsonObject, spend: Spend): SecuritySchemes {
  const locations = new Map<string, CredentialLocation>();
  try {
    for (const [name, entry] of Object.entries(schemesOf(document))) {
      spend(1);
      const scheme = tryFollow(document, entry, spend);
      for (const key of ['in', 'name', 'scheme', 'type']) spendOnValue(scheme?.[key], spend);
      const location = scheme === undefined ? undefined : locationOf(scheme);
      if (location !== undefined) locations.set(name, location);
    }
  } catch (error) {
    // Without a budget no function is made, so none needs a credential.
    if (!(error instanceof BudgetSpent)) throw error;
  }
  const withheld = [...locations.values()].flatMap((location) =>
    'name' in location ? [`${location.kind}:${location.name.toLowerCase()}`] : [],
  );
  const anyOfThem = [...locations.values()].slice(0, maxAlternatives).map((location): CredentialSet => [location]);
  return {
    withheld: new Set(withheld),
    alternativesFor(operation) {
      const stated = ownValue(operation, 'security') ?? ownValue(document, 'security');
      const found = Array.isArray(stated) ? alternatives(stated, locations, spend) : [];
      // Many documents declare schemes and forget to require them; a key that is sent to a public operation does no harm.
      const known = found.length > 0 ? found : anyOfThem;
      return known.length > 0 ? known : undefined;
    },
  };
}

/** OR of ANDs (Security Requirement Object). One with an unknown scheme is left out. */
function alternatives(stated: readonly JsonValue[], locations: ReadonlyMap<string, CredentialLocation>, spend: Spend): CredentialSet[] {
  return stated.slice(0, maxAlternatives).flatMap((requirement): CredentialSet[] => {
    if (!isJsonObject(requirement)) return [];
    const names = Object.keys(requirement);
    spendOnNames(names, spend);
    const together = names.slice(0, maxTogether).map((name) => locations.get(name));
    const known = together.filter((location) => location !== undefined);
    return known.length > 0 && known.length === names.length ? [known] : [];
  });
}

function schemesOf(document: JsonObject): JsonObject {
  const components = ownValue(document, 'components');
  const schemes =
    ownValue(document, 'securityDefinitions') ?? (isJsonObject(components) ? ownValue(components, 'securitySchemes') : undefined);
  return isJsonObject(schemes) ? schemes : {};
}

/** `oauth2` and `openIdConnect` end in a bearer token; a connection cannot do `mutualTLS`. A document must not have a key sent as what frames a message. */
function locationOf(scheme: JsonObject): CredentialLocation | undefined {
  const { type, name, in: location, description } = scheme;
  if (type === 'oauth2' || type === 'openIdConnect') return { kind: 'bearer' };
  if (type === 'basic') return { kind: 'basic' };
  if (type === 'http') return httpLocation(scheme['scheme']);
  if (type !== 'apiKey' || typeof name !== 'string' || name === '') return undefined;
  if (location === 'query') return { kind: 'query', name };
  if (!isToken(name) || name.length > nameCharacters || (location !== 'header' && location !== 'cookie')) return undefined;
  const isAuthorization = location === 'header' && name.toLowerCase() === 'authorization';
  if (location === 'header' && isReservedHeader(name) && !isAuthorization) return undefined;
  const prefix = isAuthorization && typeof description === 'string' ? prefixWords.exec(description.slice(0, 1_000))?.[1] : undefined;
  return { kind: location, name, ...(prefix !== undefined && { prefix }) };
}

/** Scheme names are the same in any case (RFC 9110 section 11.1). */
function httpLocation(scheme: JsonValue | undefined): CredentialLocation | undefined {
  if (typeof scheme !== 'string') return undefined;
  const known = scheme.trim().toLowerCase();
  if (known === 'bearer' || known === 'basic') return { kind: known };
  return known === 'token' || known === 'apikey' ? { kind: 'header', name: 'Authorization', prefix: scheme.trim() } : undefined;
}
