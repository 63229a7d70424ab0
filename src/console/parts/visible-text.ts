/**
 * Controls, and what turns the direction of a text around, as their escapes: what a person decides on must not look like something else. Marks that texts
 * in Hebrew or Arabic need (U+200E, U+200F) stay.
 */
export function visibleText(text: string): string {
  return text.replaceAll(unseen, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

// eslint-disable-next-line no-control-regex -- they are what is replaced
const unseen = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/g;
