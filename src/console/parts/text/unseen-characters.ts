/**
 * Characters that are invisible or change how the text around them is read: control characters except line feeds and tabs, direction marks, joiners, tags, soft
 * hyphens, zero-width spaces, fillers, and variation selectors, except those that select the form of an emoji.
 */
// eslint-disable-next-line no-control-regex -- it matches these characters
const unseen =
  /(?![\n\t]|(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Co}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gv;

/** Scripts in which a joiner changes the shape of the letters beside it (the Unicode Standard, chapters 9, 12 and 13). */
const joining = ['Arab', 'Syrc', 'Beng', 'Deva', 'Gujr', 'Guru', 'Knda', 'Mlym', 'Orya', 'Sinh', 'Taml', 'Telu', 'Mong']
  .map((script) => `\\p{scx=${script}}`)
  .join('');
/**
 * Normal writing with such characters: a complete emoji, or one joiner within a word of these scripts. The slow search for emoji only starts at a character that
 * can begin one.
 */
const ordinary = `(?=\\p{Emoji})\\p{RGI_Emoji}|(?<=[[\\p{L}\\p{M}]&&[${joining}]])[\\u200c\\u200d](?=[\\p{L}&&[${joining}]])`;
const unseenInWriting = new RegExp(`${ordinary}|(?<unseen>${unseen.source})`, 'gv');

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

/** An invisible character: its code point, and its name if it has a helpful one. */
export interface UnseenCharacter {
  code: string;
  name: string | undefined;
}

/** Splits a text into visible pieces and invisible characters. `isName`: no joiner is normal, because two names must not look the same. */
export function splitUnseen(text: string, { isName = false } = {}): (string | UnseenCharacter)[] {
  const parts: (string | UnseenCharacter)[] = [];
  let end = 0;
  for (const { 0: character, index, groups } of text.matchAll(isName ? unseen : unseenInWriting)) {
    if (groups !== undefined && groups['unseen'] === undefined) continue;
    if (index > end) parts.push(text.slice(end, index));
    const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
    parts.push({ code, name: names[character] });
    end = index + character.length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}
