/** The start of a text is enough to find its chat. */
const maxIndexedCharacters = 40_000;
const maxQueryCharacters = 1_000;
const maxQueryWords = 32;

/** Stop words: ignored in a query, unless it has no others. */
const stopWords = new Set(
  'a about all an and any are as at be can could did do does for from had has have how i in is it me my of on or our said say tell that the then this to told us was we were what when where which who why will with would you your'.split(
    ' ',
  ),
);

/** Scripts that are written without spaces between words. */
const unspaced =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+$/u;
const runs =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;

/**
 * The words of a text for the index, in lower case and without accents. In scripts without spaces, every character and every pair of adjacent
 * characters is a word.
 */
export function wordsOf(text: string): string[] {
  return splitWords(text.slice(0, maxIndexedCharacters)).flatMap((word) =>
    unspaced.test(word) ? [...charactersOf(word), ...pairsOf(word)] : [word],
  );
}

/** The distinct words of a query; `isPrefix`: it also matches longer words that begin with it. */
export function queryWordsOf(query: string): { word: string; isPrefix: boolean }[] {
  const words = splitWords(query.slice(0, maxQueryCharacters)).flatMap((word) =>
    unspaced.test(word) && word.length > 1 ? pairsOf(word) : [word],
  );
  const significant = words.filter((word) => !stopWords.has(word));
  const chosen = [...new Set(significant.length > 0 ? significant : words)].slice(0, maxQueryWords);
  return chosen.map((word) => {
    if (unspaced.test(word) || word.length < 4) return { word, isPrefix: false };
    // Without a plural "s", so that "meetings" also finds "meeting".
    return { word: word.replace(/(?<=[^s])s$/, ''), isPrefix: true };
  });
}

function splitWords(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .normalize('NFKC')
    .toLowerCase();
  return plain.split(/[^\p{L}\p{N}]+/u).flatMap((word) => word.match(runs) ?? []);
}

function pairsOf(word: string): string[] {
  const characters = charactersOf(word);
  return characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`);
}

/** Code points: rare Chinese characters are two UTF-16 code units. */
function charactersOf(word: string): string[] {
  return Array.from(word);
}
