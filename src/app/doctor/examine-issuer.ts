import type { SendOutbound } from '../../core/outbound.ts';
import { discoverKeySet, type OidcSettings } from '../../policy/oidc-callers.ts';
import { createTokenVerifier } from '../../policy/verify-token.ts';
import { isJsonObject } from '../../shared/json/json.ts';
import { broken, count, ok } from './finding.ts';
import type { Finding } from '../../core/finding.ts';

/** Asks the issuer of `auth.oidc` for its keys, as the gateway will. */
export async function examineIssuer(settings: OidcSettings | undefined, send: SendOutbound): Promise<Finding[]> {
  if (settings === undefined) return [];
  const { issuer, audience, admins } = settings;
  const verifier = createTokenVerifier({ send, now: Date.now });
  try {
    const keySet = await verifier.readDocument(await discoverKeySet(issuer, verifier));
    const keys = isJsonObject(keySet) && Array.isArray(keySet['keys']) ? keySet['keys'].length : 0;
    if (keys === 0)
      return [broken(`The key set of ${issuer} has no keys, so none of its tokens are accepted`, 'Ask the administrator of the provider.')];
    const administrators =
      admins === undefined ? 'none of them grants administrator rights' : `"${admins.value}" in "${admins.claim}" makes administrators`;
    return [ok(`Tokens from ${issuer} for "${audience}" are accepted (${count(keys, 'key')}); ${administrators}`)];
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    return [
      broken(
        `The keys of ${issuer} cannot be read, so its tokens are rejected: ${cause}`,
        'Check OIDC_ISSUER, and that it can be reached from here.',
      ),
    ];
  }
}
