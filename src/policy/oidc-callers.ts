import { hash } from 'node:crypto';
import { tokenCallerKey, type Caller, type CallerLimits } from '../core/callers/caller.ts';
import { GatewayError } from '../core/errors.ts';
import type { OidcCallers, OidcClientSettings } from '../core/callers/oidc.ts';
import { isPersonId, personCallerId, personIdOf } from '../core/callers/people.ts';
import { isJsonObject } from '../shared/json/json.ts';
import { keptFor } from '../shared/async/kept-for.ts';
import { personOf } from './person-tokens.ts';
import { endOfToken, unavailable, type TokenClaims, type TokenVerifier } from './verify-token.ts';

/** `auth.oidc`: whose tokens identify callers, as keys do. */
export interface OidcSettings {
  /** The OpenID provider, exactly as `iss` of its tokens and its discovery document name it. */
  readonly issuer: string;
  /** What `aud` of the tokens must be or contain: the gateway's API. */
  readonly audience: string;
  /** Administrators are those whose claim is this text, or a list with it. Absent: no token makes an administrator. */
  readonly admins?: { readonly claim: string; readonly value: string } | undefined;
  /** As whom the gateway asks the provider for people who sign in to its console. Absent: they cannot. */
  readonly client?: OidcClientSettings | undefined;
  /** Of each caller. Absent: none. */
  readonly limits?: CallerLimits;
}

/** Signatures by private keys alone: with a shared secret, whoever can check a token could make one. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
/** How long the address of the key set is taken for granted. */
const discoveryMs = 60 * 60 * 1_000;
/** 128 bits, in base64url. */
const groupCharacters = 22;

interface OidcCallerOptions {
  settings: OidcSettings;
  verifier: TokenVerifier;
  /** Milliseconds since 1970. */
  now: () => number;
}

/**
 * A caller's id is `oidc_<hash of issuer and subject>/<subject>`: they are one of a kind where callers share something, because nobody but the issuer can
 * invent them, and a person where people are listed, counted and deleted.
 */
export function createOidcCallers({ settings: { issuer, audience, admins, limits }, verifier, now }: OidcCallerOptions): OidcCallers {
  const findKeySet = keptFor(discoveryMs, now, () => discoverKeySet(issuer, verifier));

  function refuse(why: string): GatewayError {
    return new GatewayError(
      'invalid_api_key',
      `The token is not valid here: ${why}. Get a new one from ${issuer} for the audience "${audience}".`,
    );
  }

  function idOf(subject: string): string {
    return personCallerId(
      tokenCallerKey(hash('sha256', JSON.stringify([issuer, subject]), 'base64url').slice(0, groupCharacters)),
      subject,
    );
  }

  const limited = limits === undefined ? {} : { limits };

  return {
    isToken: (credential) => /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(credential),
    async find(token) {
      // Before the issuer is asked for its keys, which no token of another one is a reason for.
      if (issuerOf(token) !== issuer) throw refuse('it is not of this issuer');
      const payload = await verifier.verify(token, { key: { keySetUrl: await findKeySet() }, algorithms, issuer, audience, refuse });
      const { sub } = payload;
      if (!isPersonId(sub)) throw refuse('it has no claim "sub" that could be an id');
      const role = admins !== undefined && hasValue(payload, admins) ? 'admin' : 'user';
      const end = endOfToken(payload, now());
      return { id: idOf(sub), person: personOf(sub, payload), role, isOpen: false, expiresAt: end, tokenExpiresAt: end, ...limited };
    },
    findById(id): Caller | undefined {
      const subject = personIdOf(id);
      return subject === undefined || id !== idOf(subject)
        ? undefined
        : { id, person: { id: subject }, role: 'user', isOpen: false, ...limited };
    },
  };
}

/** The address of the issuer's key set. @throws GatewayError `identity_unavailable`, whose cause says why */
export async function discoverKeySet(issuer: string, { readDocument }: Pick<TokenVerifier, 'readDocument'>): Promise<string> {
  const document = await readDocument(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const { issuer: named, jwks_uri: keySetUrl } = isJsonObject(document) ? document : {};
  // OpenID Connect Discovery 1.0, section 4.3: otherwise one provider could speak for another.
  if (named !== issuer)
    throw unavailable(
      new Error(`The issuer calls itself ${JSON.stringify(named)}. Set OIDC_ISSUER to exactly this if it is the right provider.`),
    );
  if (typeof keySetUrl !== 'string' || !URL.canParse(keySetUrl)) throw unavailable(new Error('Discovery names no jwks_uri.'));
  const { protocol } = new URL(keySetUrl);
  if (protocol !== 'https:' && protocol !== new URL(issuer).protocol)
    throw unavailable(new Error(`The jwks_uri of discovery is not https: ${keySetUrl}`));
  return keySetUrl;
}

/** As the token itself says, unchecked. */
function issuerOf(token: string): unknown {
  try {
    const payload: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    return isJsonObject(payload) ? payload['iss'] : undefined;
  } catch {
    return undefined;
  }
}

function hasValue(payload: TokenClaims, { claim, value }: { claim: string; value: string }): boolean {
  const held = Object.hasOwn(payload, claim) ? payload[claim] : undefined;
  return held === value || (Array.isArray(held) && held.includes(value));
}
