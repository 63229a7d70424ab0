import { isJsonObject } from '../../../shared/json.ts';

/**
 * The answer of an authorization server as the library reads it. Its error is in the body (RFC 6749, section 5.2), so what would come before that is left
 * out: a challenge, which has to stand beside an unknown client, and a status or type that does not fit. So are fields that are null, and the server's word
 * about who has signed in, where the gateway does not use it and would have to check it.
 */
export async function readableAnswer(response: Response, { usesIdToken }: { usesIdToken: boolean }): Promise<Response> {
  response.headers.delete('www-authenticate');
  const json: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  if (!isJsonObject(json)) return response;
  const fields = Object.entries(json).filter(([name, value]) => value !== null && (usesIdToken || name !== 'id_token'));
  // GitHub and others give errors as a success.
  const isError = typeof json['error'] === 'string' && json['access_token'] === undefined;
  return Response.json(Object.fromEntries(fields), {
    status: isError && response.status === 200 ? 400 : response.status,
  });
}
