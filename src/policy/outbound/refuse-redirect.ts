import { OutboundError } from '../../core/errors.ts';
import type { OutboundResponse } from '../../core/outbound.ts';
import type { CheckedHeaders } from './check-request.ts';

/** Why an answer is not used: it redirects, or it is compressed although the request forbids that. Undefined for every other answer. */
export function refuseRedirect(answer: Omit<OutboundResponse, 'body'>, url: URL, sent: CheckedHeaders): OutboundError | undefined {
  // A 304 to a conditional request is not a redirect (RFC 9110 section 15.4.5).
  const isUnchanged = answer.status === 304 && sent.isConditional;
  if (answer.status >= 300 && answer.status < 400 && !isUnchanged) {
    const target = URL.parse(answer.headers['location'] ?? '', url.href)?.origin;
    // Without the path, which may contain a secret.
    const isUsable = answer.headers['location'] !== undefined && target !== undefined && target !== 'null';
    const destination = !isUsable ? 'no valid URL' : target === url.origin ? 'another path of itself' : target;
    const cure =
      target === url.origin
        ? 'Redirects are not followed. Often such a path is a login page, or the same path with or without a trailing slash.'
        : 'Redirects are not followed: configure the final URL.';
    return new OutboundError('redirected', `${url.origin} answered ${answer.status} and points to ${destination}. ${cure}`);
  }
  const encoding = answer.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity' && sent.wantsIdentity) {
    return new OutboundError('unreachable', `${url.origin} compressed its answer although the request forbids it.`);
  }
  return undefined;
}
