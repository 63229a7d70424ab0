import { isJsonObject } from '../../shared/json.ts';

/**
 * The answer of an authorization server as the library reads it. Its error is in the body (RFC 6749, section 5.2), so what would come before that is left
 * out: a challenge, which has to stand beside an unknown client, and a status or type that does not fit. So are fields that are null, and the server's word
 * about who has signed in, which the gateway does not use and would have to check.
 */
export async function readableAnswer(response: Response): Promise<Response> {
  response.headers.delete('www-authenticate');
  const json: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  if (!isJsonObject(json)) return response;
  const { id_token: _unused, ...fields } = json;
  // GitHub and others give errors as a success.
  const isError = typeof json['error'] === 'string' && json['access_token'] === undefined;
  return Response.json(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)), {
    status: isError && response.status === 200 ? 400 : response.status,
  });
}
