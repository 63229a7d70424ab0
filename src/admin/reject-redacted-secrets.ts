import { GatewayError } from '../core/errors.ts';
import { isJsonObject } from '../shared/json.ts';
import { findHidden } from '../shared/secrets/secret-fields.ts';

/**
 * A connection that takes nothing over from another one must hold its secrets itself: what an answer shows in their places (`[secret]`, and
 * `null` where the words of an answer stand beside it) would be kept as if it were one.
 * @throws GatewayError `invalid_request`
 */
export function rejectRedactedSecrets(value: unknown): void {
  if (!isJsonObject(value)) return;
  // The parser has a word for these; a document is not shown in part.
  const { key: _key, headers: _headers, spec: _spec, report: _report, ...fields } = value;
  const place = findHidden(fields, { areNullsHidden: 'has_key' in value });
  if (place === undefined) return;
  throw new GatewayError('invalid_request', `${place}: this is how a secret is shown, not what it is. Send the secret itself.`, {
    param: place,
  });
}
