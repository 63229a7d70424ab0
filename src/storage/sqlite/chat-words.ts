/** Words beyond this say nothing new about a chat. */
const maxIndexedCharacters = 40_000;
const maxQueryCharacters = 1_000;
const maxQueryWords = 32;

/** Words that stand in every question; a query of nothing else is searched with them. */
const commonWords = new Set(
  'a about all an and any are as at be can could did do does for from had has have how i in is it me my of on or our said say tell that the then this to told us was we were what when where which who why will with would you your'.split(
    ' ',
  ),
);

/** Scripts that put no spaces between their words. */
const unspaced =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+$/u;
const runs =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;

/**
 * The words of a text as they are indexed: lower case, without accents. Of a script without spaces every letter and every pair of neighbours
 * counts as a word.
 */
export function wordsOf(text: string): string[] {
  return splitWords(text.slice(0, maxIndexedCharacters)).flatMap((word) =>
    unspaced.test(word) ? [...lettersOf(word), ...pairsOf(word)] : [word],
  );
}

/** A query's words, each once; `isPrefix`: longer words are meant as well. */
export function queryWordsOf(query: string): { word: string; isPrefix: boolean }[] {
  const words = splitWords(query.slice(0, maxQueryCharacters)).flatMap((word) =>
    unspaced.test(word) && word.length > 1 ? pairsOf(word) : [word],
  );
  const telling = words.filter((word) => !commonWords.has(word));
  const chosen = [...new Set(telling.length > 0 ? telling : words)].slice(0, maxQueryWords);
  return chosen.map((word) => {
    if (unspaced.test(word) || word.length < 4) return { word, isPrefix: false };
    // "meetings" is to find "meeting" as well.
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
  const letters = lettersOf(word);
  return letters.slice(1).map((letter, index) => `${letters[index] ?? ''}${letter}`);
}

/** Code points: a rare Chinese letter is two of what JavaScript counts. */
function lettersOf(word: string): string[] {
  return Array.from(word);
}
