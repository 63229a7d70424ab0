import { isSecretName } from './secret-names.ts';

/** Replaces a credential in a URL. */
const hidden = '[secret]';

/** `user:password@` after the scheme. Bounded, because the text may be of any length. */
const userInformation = /\b([a-z][a-z0-9+.-]{0,20}:\/\/)([^\s/?#@"']{1,512})@/gi;
const parameter = /([?&#;])([^=&?#;\s]{1,100})=([^&#\s"'<>]+)/g;

/** Redacts user information, and values of parameters that are named like credentials, in a URL or in text with URLs. */
export function redactUrl(text: string): string {
  if (!isAddressLike(text)) return text;
  return text
    .replaceAll(userInformation, `$1${hidden}@`)
    .replaceAll(parameter, (whole, mark: string, name: string) => (isSecretName(decoded(name)) ? `${mark}${name}=${hidden}` : whole));
}

/** Removes user information, and parameters that are named like credentials, from a URL. */
export function withoutSecretsInUrl(text: string): string {
  const masked = redactUrl(text).replaceAll(`${hidden}@`, '');
  const [whole = '', fragment] = masked.split('#', 2);
  const [path = '', query] = whole.split('?', 2);
  const kept = (query ?? '').split('&').filter((pair) => !pair.endsWith(`=${hidden}`));
  const address = kept.length === 0 || query === undefined ? path : `${path}?${kept.join('&')}`;
  return fragment === undefined || isMasked(fragment) ? address : `${address}#${fragment}`;
}

export function isSecretUrl(text: string): boolean {
  return redactUrl(text) !== text;
}

/** Whether the text contains the placeholder. */
export function isMasked(text: string): boolean {
  return text.includes(hidden);
}

/** Whether the text contains the placeholder in place of a URL's credential; elsewhere it is an ordinary word. */
export function holdsMask(text: string): boolean {
  return text.includes(`=${hidden}`) || text.includes(`://${hidden}@`);
}

/** The values that `redactUrl` replaces, as they are written in the URL. */
export function secretsInUrl(text: string): string[] {
  if (!isSecretUrl(text)) return [];
  return [...userInformationOf(text), ...parametersOf(text).map(([, value]) => value)];
}

/** Restores redacted values of a URL from an earlier one: by parameter name, and in order if a name is repeated. */
export function restoreUrl(before: string, given: string): string {
  if (!given.includes(hidden)) return given;
  const users = userInformationOf(before).values();
  const values = new Map(
    [...Map.groupBy(parametersOf(before), ([name]) => name)].map(([name, found]) => [name, found.map(([, value]) => value).values()]),
  );
  return given
    .replaceAll(userInformation, (whole, scheme: string, user: string) =>
      user === hidden ? `${scheme}${users.next().value ?? hidden}@` : whole,
    )
    .replaceAll(parameter, (whole: string, ...[mark = '', name = '', value = '']: string[]) =>
      value === hidden ? `${mark}${name}=${values.get(name)?.next().value ?? hidden}` : whole,
    );
}

function isAddressLike(text: string): boolean {
  return text.includes('=') || text.includes('@');
}

function userInformationOf(text: string): string[] {
  return [...text.matchAll(userInformation)].map(([, , user = '']) => user);
}

function parametersOf(text: string): [string, string][] {
  const found = [...text.matchAll(parameter)].map(([, , name = '', value = '']): [string, string] => [name, value]);
  return found.filter(([name]) => isSecretName(decoded(name)));
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
