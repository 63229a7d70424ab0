import type { TokenEndpointResponse } from 'oauth4webapi';
import type { OAuthCredential } from '../../../core/sign-in/credentials.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import { scopesIn } from '../../definitions/scopes.ts';
import { oauthTokenCharacters } from './openid-client.ts';

/** No answer may say more: dates end somewhere. */
const longestLifeMs = 10 * 365 * 24 * 60 * 60 * 1_000;
/** Characters that a header may carry (RFC 6750, section 2.1, and other visible characters). */
const sendableToken = /^[\x21-\x7e]+$/;

type Tokens = Pick<OAuthCredential, 'accessToken' | 'refreshToken' | 'expires' | 'refreshFrom' | 'scopes'>;

/** `who`: the authorization server. `now`: in milliseconds since 1970. @throws GatewayError for a token that cannot be kept or sent */
export function tokensIn(answer: TokenEndpointResponse, { who, now }: { who: string; now: number }): Tokens {
  const { access_token: accessToken, refresh_token: refreshToken, token_type: type, expires_in: seconds, scope } = answer;
  const isFine = [accessToken, refreshToken ?? 'none'].every((token) => token.length <= oauthTokenCharacters && sendableToken.test(token));
  if (!isFine || type !== 'bearer')
    throw new GatewayError(
      'upstream_invalid_response',
      isFine
        ? `${who} issued a token that is not a bearer token, the only kind that the gateway can use. Register a client for bearer tokens there, and set oauth.client_id of the tool server.`
        : `${who} issued a token that cannot be sent in a header, or that has more than ${oauthTokenCharacters} characters. If it is too long, try fewer oauth.scopes of the tool server.`,
    );
  const lifeMs = seconds === undefined ? undefined : Math.min(seconds * 1_000, longestLifeMs);
  return {
    accessToken,
    ...withoutUndefined({
      refreshToken,
      expires: lifeMs === undefined ? undefined : now + lifeMs,
      refreshFrom: lifeMs === undefined ? undefined : now + lifeMs - Math.min(limits.oauthRefreshAheadMs, lifeMs / 5),
      scopes: scope === undefined ? undefined : scopesIn(scope.split(' ')),
    }),
  };
}
