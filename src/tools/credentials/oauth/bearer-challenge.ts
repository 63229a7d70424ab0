import { processRevocationResponse, WWWAuthenticateChallengeError, type WWWAuthenticateChallengeParameters } from 'oauth4webapi';
import { scopesIn } from '../../definitions/scopes.ts';

/** The header holds an address and some scopes. The library takes a third of a second for one of the maximum length. */
const longestChallenge = 4_000;

/** The parameters of the `Bearer` challenge in a `WWW-Authenticate` header; empty if there is none (RFC 6750, section 3). */
export async function bearerChallenge(header = ''): Promise<WWWAuthenticateChallengeParameters> {
  if (header === '' || header.length > longestChallenge) return {};
  try {
    // In this library, only the check of an answer reads challenges.
    await processRevocationResponse(new Response(null, { status: 401, headers: { 'www-authenticate': header } }));
  } catch (error) {
    if (error instanceof WWWAuthenticateChallengeError) return error.cause.find(({ scheme }) => scheme === 'bearer')?.parameters ?? {};
  }
  return {};
}

/** The scopes that a tool server demands with 401, or with 403 `insufficient_scope`; empty if it names none, or for any other answer. */
export async function demandedScopes({
  status,
  headers,
}: {
  status: number;
  headers: Readonly<Record<string, string | undefined>>;
}): Promise<string[]> {
  if (status !== 401 && status !== 403) return [];
  const { error, scope = '' } = await bearerChallenge(headers['www-authenticate']);
  return status === 401 || error === 'insufficient_scope' ? scopesIn(scope.split(' ')) : [];
}
