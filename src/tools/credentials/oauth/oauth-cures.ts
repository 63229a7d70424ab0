import type { GatewayError } from '../../../core/errors.ts';
import { explainOAuthFailure } from './oauth-failure.ts';

/** What the gateway was doing. */
type SignInStep = 'tool server' | 'metadata' | 'registration' | 'tokens';

/** The fix for each step, if the error code does not tell more. The fields are those of the connection. */
const cureOfStep: Readonly<Record<SignInStep, string>> = {
  'tool server': 'Check that it runs, and that the url of the tool server is right.',
  metadata: 'If the gateway cannot get its metadata, set oauth.authorize_url and oauth.token_url of the tool server.',
  registration: 'If this happens again, register the gateway there, and set oauth.client_id and oauth.client_secret of the tool server.',
  tokens: 'Check that it runs. If oauth.token_url of the tool server is set, check that it is the token endpoint.',
};

const client = 'Check oauth.client_id and oauth.client_secret of the tool server.';
const grants =
  'Allow the client of oauth.client_id to use the authorization code and refresh tokens there, or client credentials if oauth.grant says so.';
const redirects = 'Register <PUBLIC_URL>/oauth/callback there as a redirect address of the client of oauth.client_id.';
const prompts = 'Set oauth.authorize_parameters of the tool server, such as {"prompt": "consent"}.';
const later = 'Try again later.';

/** By error code: RFC 6749, sections 4.1.2.1 and 5.2, RFC 8707, section 2, RFC 7591, section 3.2.2, and OpenID Connect Core 1.0, section 3.1.2.6. */
const cureOfCode: ReadonlyMap<string, string> = new Map(
  Object.entries({
    invalid_client: client,
    unauthorized_client: client,
    invalid_grant: 'Sign in again.',
    invalid_scope: 'Set oauth.scopes of the tool server to scopes that it knows.',
    invalid_target: 'Set oauth.resource of the tool server to a resource that it knows, or to false if it accepts none.',
    invalid_request: 'If it accepts no resource, set oauth.resource of the tool server to false. Check oauth.authorize_parameters too.',
    unsupported_grant_type: grants,
    unsupported_response_type: grants,
    redirect_uri_mismatch: redirects,
    interaction_required: prompts,
    login_required: prompts,
    consent_required: prompts,
    temporarily_unavailable: later,
    server_error: later,
    slow_down: later,
  }),
);

/** Like `explainOAuthFailure`, for the sign-in at a tool server: names the field of the connection to set. */
export function explainSignInFailure(error: unknown, who: string, step: SignInStep): GatewayError {
  return explainOAuthFailure(error, who, (code) => {
    // The person has refused.
    if (code === 'access_denied') return undefined;
    // Whatever a server says against registering, the gateway can be registered by hand.
    return (
      (step === 'registration' ? undefined : cureOfCode.get(code ?? '')) ??
      (code === undefined || step === 'registration' ? cureOfStep[step] : undefined)
    );
  });
}
