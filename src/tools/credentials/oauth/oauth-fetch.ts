import type { CredentialBinding } from '../../../core/sign-in/credentials.ts';
import { limits } from '../../../core/limits.ts';
import { readText, type SendOutbound, type Trust } from '../../../core/outbound.ts';
import { GatewayError, OutboundError } from '../../../core/errors.ts';
import type { OAuthSettings } from '../../../core/stores/registry.ts';
import { hasMoreValuesThan, isTextDeeperThan } from '../../../shared/json/json-depth.ts';
import { originOf } from '../../../shared/text/document-url.ts';

/** Metadata, registration and tokens of an authorization server take far less, in time and size. */
const oauthAnswerMs = 10_000;
export const oauthAnswerBytes = 1024 * 1024;
/** Values in one such answer: far more than the metadata of the largest provider has, and parsing them takes some milliseconds. */
const oauthAnswerValues = 5_000;

/** Statuses for which a `Response` must not have a body. */
const withoutBody = new Set([204, 205, 304]);

interface OAuthRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | URLSearchParams | undefined;
}

export type OAuthFetch = (url: string, request?: OAuthRequest) => Promise<Response>;

/**
 * `fetch` for everything around a sign-in at the tool server of this origin, over the gateway's only way out: without redirects, so that no code and no
 * token goes anywhere else, and limited in time and size. Besides the server itself and what the operator has configured, it reaches only what the server leads to; from
 * a server with https never an address without it, because an eavesdropper there could redirect the codes.
 */
export function createOAuthFetch(
  send: SendOutbound,
  { origin }: Pick<CredentialBinding, 'origin'>,
  settings: OAuthSettings = {},
): OAuthFetch {
  const { authorizeUrl = '', tokenUrl = '' } = settings;
  const configured = new Set([origin, originOf(authorizeUrl), originOf(tokenUrl)]);

  function trustFor(url: string): Trust {
    const target = originOf(url);
    return target !== undefined && configured.has(target) ? { kind: 'configured', origin: target } : { kind: 'linked', from: origin };
  }

  return async (url, { method = 'GET', headers = {}, body } = {}) => {
    if (origin.startsWith('https:') && URL.parse(url)?.protocol === 'http:') throw withoutHttps(origin, originOf(url) ?? '');
    const answer = await send({
      method,
      url,
      headers,
      ...(body !== undefined && { body: body.toString() }),
      trust: trustFor(url),
      signal: AbortSignal.timeout(oauthAnswerMs),
      firstByteTimeoutMs: oauthAnswerMs,
      idleTimeoutMs: oauthAnswerMs,
    });
    const { text, isTruncated } = await readText(answer.body, oauthAnswerBytes);
    if (isTruncated) throw new OutboundError('cut', `${originOf(url) ?? 'It'} answered with more than ${oauthAnswerBytes} bytes.`);
    if (isTooMuch(text))
      throw new OutboundError(
        'cut',
        `${originOf(url) ?? 'It'} answered with more than ${oauthAnswerValues} values or ${limits.jsonDepth} levels.`,
      );
    return new Response(withoutBody.has(answer.status) ? null : text, { status: answer.status, headers: answer.headers });
  };
}

/** Values in JSON: the library and the gateway parse an answer several times, on the main thread. */
function isTooMuch(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  return isTextDeeperThan(text, limits.jsonDepth) || hasMoreValuesThan(text, oauthAnswerValues);
}

function withoutHttps(from: string, to: string): GatewayError {
  return new GatewayError(
    'upstream_invalid_response',
    `The server at ${from} sends people to ${to} to sign in. That address is not https, so nothing was sent there. Tell the administrator of that server, or set oauth.authorize_url and oauth.token_url of the tool server to addresses with https.`,
  );
}
