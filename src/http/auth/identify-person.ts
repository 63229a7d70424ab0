import { GatewayError } from '../../core/errors.ts';
import { requirePersonId, toPerson, type NamedPerson, type PeopleRule, type PersonTokens } from '../../core/callers/people.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';

interface PersonHeaders {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  raw?: { rawHeaders: readonly string[] };
}

/** Where a request names its person: in headers, or in the field `user` of a socket's `auth` frame. `named`: it has done so before. */
export type PersonSource = PersonHeaders | { user: string } | { named: NamedPerson };

const openWebUiName = 'x-openwebui-user-name';
const openWebUiEmail = 'x-openwebui-user-email';

/**
 * The person of a request with a key that speaks for several; undefined if the request names nobody.
 * @throws GatewayError `invalid_request` (also for a header that was sent twice), and as `PersonTokens.verify`
 */
export function identifyPerson(rule: PeopleRule, source: PersonSource, tokens: PersonTokens): MaybePromise<NamedPerson | undefined> {
  if ('named' in source) return source.named;
  const text = 'user' in source ? source.user : headerOf(source, rule.name);
  if (text === undefined || text === '') return undefined;
  if (rule.from === 'jwt') return tokens.verify(text, rule);
  requirePersonId(text, rule.name);
  if ('user' in source) return { person: toPerson(text, undefined, undefined) };
  const { nameHeader = openWebUiName, emailHeader = openWebUiEmail } = rule;
  return { person: toPerson(text, decoded(headerOf(source, nameHeader)), decoded(headerOf(source, emailHeader))) };
}

/** Node joins repeated headers, so that two ids would look like one. */
function headerOf({ headers, raw }: PersonHeaders, name: string): string | undefined {
  const lower = name.toLowerCase();
  const rawHeaders = raw?.rawHeaders ?? [];
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) if (rawHeaders[index]?.toLowerCase() === lower) count += 1;
  const value = headers[lower];
  if (count > 1 || Array.isArray(value))
    throw new GatewayError('invalid_request', `The request names two users. Send the header ${name} once.`, { param: name });
  return value;
}

/** Open WebUI percent-encodes names, because headers hold no other letters than those of Latin-1. */
function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What a key demands that the request does not say. */
export function personNeeded(rule: PeopleRule): GatewayError {
  const what = rule.from === 'jwt' ? 'a signed user token' : "the user's id";
  return new GatewayError(
    'user_required',
    `This key speaks for several people, and the request does not say for whom. Send ${what} in the header ${rule.name}` +
      ' (over a socket also as `user` of the auth frame).',
    { param: rule.name },
  );
}
