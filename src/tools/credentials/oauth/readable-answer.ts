import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';

/** Names of bearer tokens that servers use instead; Slack names whose token it is. */
const bearerNames: ReadonlySet<string> = new Set(['bearer', 'bearertoken', 'user', 'bot']);

/** Fields in which an empty text means that there is none. */
const absentIfEmpty: ReadonlySet<string> = new Set(['client_secret', 'refresh_token', 'scope', 'id_token']);

/**
 * The answer of an authorization server as the library reads it; its person has signed in, so it is read as long as it is clear what it means. Its error is in
 * the body (RFC 6749, section 5.2), so what would come before that is left out: a challenge, which has to stand beside an unknown client, and a status or type
 * that does not fit. So is the server's word about who has signed in, where the gateway does not use it and would have to check it.
 */
export async function readableAnswer(response: Response, { usesIdToken }: { usesIdToken: boolean }): Promise<Response> {
  response.headers.delete('www-authenticate');
  const json = await objectIn(response);
  if (json === undefined) return response;
  const fields = Object.entries(withTokens(json)).filter(
    ([name, value]) => value !== null && !(value === '' && absentIfEmpty.has(name)) && (usesIdToken || name !== 'id_token'),
  );
  const answer = Object.fromEntries(fields);
  return Response.json(answer['client_id'] === undefined ? toTokens(answer) : toRegistration(answer), {
    status: statusOf(response.status, answer),
  });
}

/** Its JSON, or the form data that servers from before RFC 6749 send. Undefined for anything else. */
async function objectIn(response: Response): Promise<JsonObject | undefined> {
  if (response.headers.get('content-type')?.startsWith('application/x-www-form-urlencoded') === true)
    return Object.fromEntries(new URLSearchParams(await response.clone().text()));
  const json: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  return isJsonObject(json) ? json : undefined;
}

/** Some put the tokens into an object of the answer: Slack those of people into `authed_user`. */
function withTokens(json: JsonObject): JsonObject {
  if (json['access_token'] !== undefined) return json;
  const inner = Object.values(json)
    .filter(isJsonObject)
    .filter((value) => typeof value['access_token'] === 'string');
  return inner.length === 1 ? (inner[0] ?? json) : json;
}

/** GitHub and others give errors as a success. A registration is a 201 (RFC 7591, section 3.2.1), and tokens are a 200 (RFC 6749, section 5.1). */
function statusOf(status: number, { error, access_token: token, client_id: client }: JsonObject): number {
  if (status < 200 || status > 299) return status;
  if (typeof error === 'string' && token === undefined) return status === 200 ? 400 : status;
  return token === undefined && client !== undefined ? 201 : 200;
}

/** RFC 7591, section 3.2.1: a secret without an expiry date is not valid, but it works. */
function toRegistration(answer: JsonObject): JsonObject {
  const { client_secret_expires_at: expires, ...others } = answer;
  const { client_id: id } = others;
  const rest = typeof id === 'number' ? { ...others, client_id: String(id) } : others;
  return rest['client_secret'] === undefined ? rest : { ...rest, client_secret_expires_at: toCount(expires) ?? 0 };
}

function toTokens(answer: JsonObject): JsonObject {
  if (answer['access_token'] === undefined) return answer;
  const { token_type: type, expires_in: seconds, scope, ...rest } = answer;
  const isBearer = type === undefined || (typeof type === 'string' && bearerNames.has(type.toLowerCase()));
  const life = toCount(seconds);
  const scopes = Array.isArray(scope) ? scope.filter((entry) => typeof entry === 'string').join(' ') : scope;
  return {
    ...rest,
    token_type: isBearer ? 'bearer' : (type ?? null),
    ...(life !== undefined && { expires_in: life }),
    // GitHub separates them by commas.
    ...(typeof scopes === 'string' && scopes !== '' && { scope: scopes.includes(' ') ? scopes : scopes.replaceAll(',', ' ') }),
  };
}

/** Undefined for anything but a number of at least zero, which may be written as text. */
function toCount(value: JsonValue | undefined): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined;
}
