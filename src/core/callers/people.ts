import { GatewayError } from '../errors.ts';

/** One of the people behind a key, as the key's frontend names them. */
export interface Person {
  /** 1 to 256 characters, compared exactly. Unique among the people of one key. */
  readonly id: string;
  readonly name?: string;
  readonly email?: string;
}

/** A person as a request names them. */
export interface NamedPerson {
  readonly person: Person;
  /** When the token that names them ends, in milliseconds since 1970; undefined: no token does. */
  readonly tokenExpiresAt?: number;
}

/**
 * How a request with a key says which person it is for. `header`: by the id itself, which everybody who has the key can set. `jwt`: by a token that the
 * frontend signs, with a shared secret (HS256) or with a key of its key set (RS256, ES256).
 */
export type PeopleRule =
  | { from: 'header'; name: string; nameHeader?: string; emailHeader?: string }
  | { from: 'jwt'; name: string; secret?: string; jwksUrl?: string; issuer?: string; audience?: string; claim: string };

/** Checks the tokens of `PeopleRule`. */
export interface PersonTokens {
  /** @throws GatewayError `invalid_user_token`, and `identity_unavailable` when the key set cannot be read */
  verify(token: string, rule: Extract<PeopleRule, { from: 'jwt' }>): Promise<NamedPerson>;
}

const separator = '/';

/** The id of a person as a caller. The part before the first slash is the id of the key. */
export function personCallerId(keyId: string, personId: string): string {
  return `${keyId}${separator}${personId}`;
}

/** The id of the key of a caller, which is the caller's own id where a key is one caller. */
export function keyIdOf(callerId: string): string {
  const at = callerId.indexOf(separator);
  return at === -1 ? callerId : callerId.slice(0, at);
}

/** The person whom a caller's id names; undefined for a key that is one caller. */
export function personIdOf(callerId: string): string | undefined {
  const at = callerId.indexOf(separator);
  return at === -1 ? undefined : callerId.slice(at + 1);
}

/** Whether a caller is this owner, or one of the people of this key. */
export function isWithin(callerId: string, ownerId: string): boolean {
  return callerId === ownerId || keyIdOf(callerId) === ownerId;
}

const maxIdCharacters = 256;
/** Of a display name or an address; longer ones are cut. */
const maxShownCharacters = 256;

/** Halves of characters (lone surrogates) would all be the same replacement character in stores. */
export function isPersonId(id: unknown): id is string {
  return typeof id === 'string' && id.length >= 1 && id.length <= maxIdCharacters && id.isWellFormed() && !/\p{Cc}/u.test(id);
}

/** @throws GatewayError `invalid_request` */
export function requirePersonId(id: string, where: string): void {
  if (isPersonId(id)) return;
  throw new GatewayError(
    'invalid_request',
    `${where} must be an id of 1 to ${maxIdCharacters} characters, without control characters and halves of characters.`,
  );
}

/** A person with what is shown of them, which nothing is decided by. */
export function toPerson(id: string, name: string | undefined, email: string | undefined): Person {
  const [shownName, shownEmail] = [shown(name), shown(email)];
  return { id, ...(shownName !== '' && { name: shownName }), ...(shownEmail !== '' && { email: shownEmail }) };
}

function shown(text: string | undefined): string {
  return (text ?? '')
    .replaceAll(/\p{Cc}/gu, ' ')
    .replaceAll(/\p{Bidi_Control}/gu, '')
    .trim()
    .slice(0, maxShownCharacters)
    .toWellFormed();
}
