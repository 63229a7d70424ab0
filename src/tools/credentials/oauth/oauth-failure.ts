import {
  AuthorizationResponseError,
  OperationProcessingError,
  ResponseBodyError,
  UnsupportedOperationError,
  validateAuthResponse,
  type AuthorizationServer,
  type Client,
  type skipStateCheck,
} from 'oauth4webapi';
import { GatewayError, OutboundError } from '../../../core/errors.ts';
import { originOf } from '../../../shared/text/document-url.ts';

/** An error code of OAuth (RFC 6749, appendix A.7), short enough to be one. Descriptions are left out: they may repeat what was sent. */
const errorCode = /^[a-z0-9_.-]{1,60}$/i;

/** Errors of a token endpoint that a later attempt may not meet. */
const passingErrors = new Set(['temporarily_unavailable', 'server_error', 'slow_down']);
const tooManyRequests = 429;

/** The error that an authorization server answered the gateway with; undefined for any other failure. */
export function oauthErrorOf(error: unknown): string | undefined {
  return error instanceof ResponseBodyError ? codeIn(error) : undefined;
}

/** Whether an authorization server has decided against a request, and would do so again. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ResponseBodyError && error.status !== tooManyRequests && !passingErrors.has(error.error);
}

function codeIn({ error }: ResponseBodyError | AuthorizationResponseError): string {
  return errorCode.test(error) ? error : 'an error code that OAuth does not have';
}

/** The parameters that a browser returns from an authorization server. */
interface BroughtBack {
  server: AuthorizationServer;
  client: Client;
  parameters: URLSearchParams;
  state: string | typeof skipStateCheck;
}

/**
 * Checks what a browser brought back; `who` names the authorization server that was asked.
 * @throws GatewayError `forbidden`: browsers can be sent here by anybody, so no server behind the gateway is at fault
 */
export function requireAnswerOf(who: string, { server, client, parameters, state }: BroughtBack): URLSearchParams {
  const refuse = (reason: string): GatewayError =>
    new GatewayError('forbidden', `${who} did not send the answer that your browser returned: ${reason}. It was not used. Begin again.`);
  try {
    const checked = validateAuthResponse(server, client, parameters, state);
    if (parameters.getAll('code').length === 1) return checked;
  } catch (error) {
    const reason = reasonOf(error);
    throw reason === undefined ? error : refuse(reason);
  }
  throw refuse('it does not have one code');
}

/** A code from another server must not be sent to the server that was asked (RFC 9700, section 4.4). @throws GatewayError `forbidden` */
export function requireAskedServer(
  { authorizeOrigin, tokenEndpoint }: { authorizeOrigin: string; tokenEndpoint: string },
  parameters: URLSearchParams,
): void {
  const asked = [authorizeOrigin, originOf(tokenEndpoint)];
  if (parameters.getAll('iss').every((issuer) => asked.includes(originOf(issuer)))) return;
  throw new GatewayError(
    'forbidden',
    `The answer does not come from ${authorizeOrigin}, the authorization server that was asked, so it was not used. Ask the administrator of this gateway to check oauth.authorize_url of the tool server.`,
  );
}

/** The fix for an OAuth error. `code`: that of the answer. Undefined if no fix is known. */
export type CureOf = (code: string | undefined) => string | undefined;

/**
 * What went wrong between the gateway and an authorization server; `who` names that. Messages and causes of the library are not passed on where they may
 * hold what was sent or received.
 */
export function explainOAuthFailure(error: unknown, who: string, cureOf: CureOf = () => undefined): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof OutboundError && error.failure === 'denied') return new GatewayError('egress_denied', error.message);
  const withCure = (code: GatewayError['code'], message: string, otherwise?: string): GatewayError => {
    const cure = cureOf(error instanceof ResponseBodyError || error instanceof AuthorizationResponseError ? codeIn(error) : undefined);
    return new GatewayError(code, [message, cure ?? otherwise].filter((text) => text !== undefined).join(' '));
  };
  if (error instanceof OutboundError)
    return withCure(error.failure === 'timeout' ? 'upstream_timeout' : 'upstream_unreachable', `${who}: ${error.message}`);
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return withCure('upstream_timeout', `${who} did not answer in time. Try again later.`);
  if (error instanceof AuthorizationResponseError)
    return withCure('forbidden', `${who} denied access: it answered "${codeIn(error)}". Begin again, or ask its administrator.`);
  if (error instanceof ResponseBodyError)
    return withCure(
      'upstream_rejected',
      `${who} rejects the request: it answered "${codeIn(error)}" (HTTP ${error.status}).`,
      'Look into its log.',
    );
  const reason = reasonOf(error) ?? 'it cannot be read';
  return withCure('upstream_invalid_response', `${who} gave an answer that is not valid OAuth: ${reason}.`);
}

function reasonOf(error: unknown): string | undefined {
  const isKnown = error instanceof OperationProcessingError || error instanceof UnsupportedOperationError;
  return isKnown ? error.message.replaceAll('"response" ', '').replaceAll('"', '') : undefined;
}

/** Whether the authorization server does not know the client. */
export function isUnknownClient(code: string | undefined): boolean {
  return code === 'invalid_client' || code === 'unauthorized_client';
}
