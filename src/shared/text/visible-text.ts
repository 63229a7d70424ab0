const emoji = String.raw`\p{Extended_Pictographic}\p{Emoji_Modifier}`;
/** After letters of these scripts a joiner decides how a word is written; in Latin, Greek and Cyrillic it only hides. */
const joined = String.raw`[\p{L}\p{M}]--[\p{scx=Latn}\p{scx=Grek}\p{scx=Cyrl}]`;
const ordinary = String.raw`[\n\t]|(?<=[${emoji}])[\ufe0e\ufe0f]|(?<=[${emoji}\ufe0f])\u200d(?=\p{Extended_Pictographic})|(?<=[${joined}])[\u200c\u200d](?=\p{L})`;
/**
 * What cannot be seen, or changes how the text around it is read: controls, marks of direction, joiners, tags, soft hyphens, spaces of no width, fillers and
 * variation selectors, but for what emoji and some scripts are written with.
 */
const unseen = new RegExp(String.raw`(?:(?!${ordinary})[\p{Cc}\p{Cf}\p{Co}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800])+`, 'gv');

/** The text as a person may decide on it: what is not seen is written as JSON escapes it, so that JSON stays the same value. */
export function visibleText(text: string): string {
  return text.replaceAll(unseen, escapeCharacters);
}

/** Of code units, because a text may have a quarter of a million of the same one. */
const escapes = new Map<number, string>();

/** As JSON escapes them, both halves of those beyond U+FFFF. */
export function escapeCharacters(characters: string): string {
  let escaped = '';
  for (let index = 0; index < characters.length; index += 1) escaped += escapeUnit(characters.charCodeAt(index));
  return escaped;
}

function escapeUnit(unit: number): string {
  const known = escapes.get(unit);
  if (known !== undefined) return known;
  const escaped = `\\u${unit.toString(16).padStart(4, '0')}`;
  escapes.set(unit, escaped);
  return escaped;
}
