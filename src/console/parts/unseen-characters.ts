/**
 * What cannot be seen, or changes how the text around it is read: controls but line feeds and tabs, marks of direction, joiners, tags, soft hyphens, spaces
 * of no width, fillers, and variation selectors, except the one that gives a sign the form of an emoji.
 */
// eslint-disable-next-line no-control-regex -- they are what is looked for
const unseen = /(?![\n\t]|(?<=\p{Extended_Pictographic})\ufe0f)[\p{Cc}\p{Cf}\p{Co}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu;

const names: Readonly<Record<string, string>> = {
  '\u001b': 'escape: the beginning of a code for terminals',
  '\u00ad': 'soft hyphen',
  '\u200b': 'zero width space',
  '\u200c': 'zero width non-joiner',
  '\u200d': 'zero width joiner',
  '\u200e': 'left-to-right mark',
  '\u200f': 'right-to-left mark',
  '\u202a': 'left-to-right embedding',
  '\u202b': 'right-to-left embedding',
  '\u202c': 'end of direction',
  '\u202d': 'left-to-right override',
  '\u202e': 'right-to-left override',
  '\u2060': 'word joiner',
  '\u2066': 'left-to-right isolate',
  '\u2067': 'right-to-left isolate',
  '\u2068': 'isolate',
  '\u2069': 'end of isolate',
  '\ufeff': 'byte order mark',
};

/** A character that cannot be seen: its number, and its name where it has a telling one. */
export interface UnseenCharacter {
  code: string;
  name: string | undefined;
}

/** A text in its order, with what cannot be seen apart. */
export function splitUnseen(text: string): (string | UnseenCharacter)[] {
  const parts: (string | UnseenCharacter)[] = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(unseen)) {
    if (index > end) parts.push(text.slice(end, index));
    const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
    parts.push({ code, name: names[character] });
    end = index + character.length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}
