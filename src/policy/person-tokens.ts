import { GatewayError } from '../core/errors.ts';
import { requirePersonId, toPerson, type PeopleRule, type Person, type PersonTokens } from '../core/callers/people.ts';
import { endOfToken, type TokenClaims, type TokenVerifier } from './verify-token.ts';

type TokenRule = Extract<PeopleRule, { from: 'jwt' }>;

interface PersonTokenOptions {
  verifier: Pick<TokenVerifier, 'verify'>;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** The tokens by which a frontend names the people behind its key. */
export function createPersonTokens({ verifier, now }: PersonTokenOptions): PersonTokens {
  return {
    async verify(token, rule) {
      const { secret, jwksUrl = '', issuer, audience } = rule;
      const payload = await verifier.verify(token, {
        key: secret === undefined ? { keySetUrl: jwksUrl } : { secret },
        algorithms: secret === undefined ? ['RS256', 'ES256'] : ['HS256'],
        issuer,
        audience,
        refuse: (why) => refused(rule, why),
      });
      const id = payload[rule.claim];
      if (typeof id !== 'string' || id === '') throw refused(rule, `it has no claim "${rule.claim}"`);
      requirePersonId(id, `the claim "${rule.claim}" of ${rule.name}`);
      return { person: personOf(id, payload), tokenExpiresAt: endOfToken(payload, now()) };
    },
  };
}

/** With what the token says of a person for others to read. */
export function personOf(id: string, { name, email }: TokenClaims): Person {
  return toPerson(id, typeof name === 'string' ? name : undefined, typeof email === 'string' ? email : undefined);
}

function refused({ name }: TokenRule, why: string): GatewayError {
  return new GatewayError('invalid_user_token', `The user token in ${name} is not valid: ${why}. Sign in again at the frontend.`);
}
