/** Words that say nothing about what is wanted. */
const stopWords = new Set(
  (
    'a an and any are as at be by can could do does for from get give has have how i in into is it its make may me my no not of on or please ' +
    'return returns shall should show tell than that the their them then there these this those to use using want was were what when where which ' +
    'who will with would you your der die das den dem des ein eine einen einer ist sind und oder mit von zu bitte mir wie was wer ich du'
  ).split(' '),
);

/** `"…"`, `“…”`, `「…」`, `'…'` with space around, and backticks. */
export function quotedTexts(text: string): string[] {
  const quotes =
    /"([^"\n]{1,2000})"|“([^“”\n]{1,2000})”|„([^„“\n]{1,2000})“|「([^「」\n]{1,2000})」|『([^『』\n]{1,2000})』|`([^`\n]{1,2000})`|(?<=^|\s)'([^'\n]{1,2000})'(?=$|[\s.,;:!?])/gu;
  return [...text.matchAll(quotes)].map((match) => match.slice(1).find((group) => group !== undefined) ?? '');
}

/** The words of a text that carry its meaning, in their stems; of scripts without spaces every pair of characters. */
export function meaningOf(text: string): Set<string> {
  const found = new Set<string>();
  for (const [run] of text.toLowerCase().matchAll(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+|[\p{L}\p{N}]+/gu)) {
    if (/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(run))
      for (let index = 0; index + 1 < run.length; index++) found.add(run.slice(index, index + 2));
    else if (!stopWords.has(run) && run.length > 1) found.add(stem(run));
  }
  return found;
}

/** `searches`, `searched` and `searching` are one word. */
export function stem(word: string): string {
  if (word.length < 5) return word.length === 4 ? word.replace(/(?<=[^s])s$/u, '') : word;
  return word.replace(/(?:ing|ed|es|s|e)$/u, '');
}

/**
 * What a question is about: what follows the words that speak of the function, without lead-ins, politeness and punctuation; may be empty.
 * `Search the wiki for quantum physics, please.` with `search`, `wiki` gives `quantum physics`.
 */
export function objectOf(text: string, functionWords: Iterable<string>): string {
  const known = new Set([...functionWords].map((word) => stem(word.toLowerCase())));
  const words = [...text.matchAll(/[^\s]+/gu)];
  let start = 0;
  for (const word of words.slice(0, 12)) {
    const plain = word[0].toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
    const isLead = stopWords.has(plain) || leadWords.has(plain) || known.has(stem(plain));
    if (!isLead) break;
    start = word.index + word[0].length;
  }
  return trimmed(text.slice(start));
}

const leadWords = new Set('about also call find function hello hey hi look lookup need now perform run search tool up'.split(' '));

/** Without politeness and marks at its ends. */
export function trimmed(text: string): string {
  return text.replace(/[\s,]*\b(?:please|thanks|thank you|bitte)[\s.!?]*$/iu, '').replace(/^[\s:,–-]+|[\s.!?。！？]+$/gu, '');
}
