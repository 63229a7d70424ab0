import type { ReadCall } from '../answer-pieces.ts';
import { announcesCall, speaksAgainst, type SaidAround } from './meant-calls.ts';

/**
 * What a model says of its calls in a selection, beside what makes them examples (`meant-calls.ts`). `open`: it may announce or explain them, or quote them,
 * plan them, take them back. `contrary`: what it says behind them speaks against them.
 */
export type WordsAround = 'harmless' | 'open' | 'contrary';

export function judgeWords({ before, behind }: SaidAround, calls: readonly Pick<ReadCall, 'name' | 'arguments'>[]): WordsAround {
  if (before.trim() === '' && behind.trim() === '') return 'harmless';
  const ofCalls = calls
    .map((call) => `${call.name} ${JSON.stringify(call.arguments)}`)
    .join(' ')
    .slice(0, maxOfCalls);
  const left = essenceOf(behind, ofCalls);
  if (left.length <= maxHarmless && areHarmless(left, ofCalls))
    return announcesCall(before) || areHarmless(essenceOf(before, ofCalls), ofCalls) ? 'harmless' : 'open';
  const sentences = left.match(/[^.!?。！？\n]+[?？]?/gu) ?? [];
  const isContrary = sentences.some(
    (sentence) => !ofOtherCalls.test(sentence) && (/[?？]$/.test(sentence) || withdrawal.test(sentence) || speaksAgainst(sentence)),
  );
  return isContrary ? 'contrary' : 'open';
}

/** Without marks, courtesies, and the paths, URLs and mail addresses of the calls, whose words are names. */
function essenceOf(words: string, ofCalls: string): string {
  return withoutAddresses(words.replaceAll(markup, ' ').trim().replaceAll(courtesies, ' '), ofCalls);
}

const ofOtherCalls = /\b(?:additional|again|another|else|further|more|other|twice)\b/i;

/** What takes back what was just said, besides negations, conditions and examples. */
const withdrawal =
  /\b(?:wait|oops|sorry|kidding|second thoughts?|(?:cancel|forget|scratch|retract|withdraw|undo|stop|drop|discard|take) (?:it|this|that|the (?:call|above))|hold (?:on|off)|mistake|only (?:if|when|after|once)|approve|confirm)\b|^\s*no\b/i;

/** Longer words are not read: few explanations of a call are. */
const maxHarmless = 400;

/**
 * Whether words merely introduce or explain the calls, close a fence, or thank: every word is a plain one or occurs in the calls themselves. There are
 * endless ways to quote a call or to take it back, in every language, so any other word leaves it open.
 */
function areHarmless(words: string, ofCalls: string): boolean {
  if (unusualCharacter.test(words)) return false;
  let stems: ReadonlySet<string> | undefined;
  return wordsOf(words).every((word) => plainWords.has(word) || (!withdrawing.has(word) && (stems ??= stemsOf(ofCalls)).has(stemOf(word))));
}

/** Tags and tokens of templates, and fences. Another tag may strike a call out, or say whose it is. */
const markup =
  /<\/?(?:[|｜/][^\s<>]{1,40}|s|eos|bos|br|p|xml|code|assistant|final|response|thinking|[\w-]{0,30}(?:answer|calls?|json|tools?|functions?|output|action|think)[\w-]{0,9})>|[`~]{3,9}\w{0,20}(?=\s|$)/g;

/** Whole phrases, because their words alone are not plain. */
const courtesies =
  /\b(?:sure|certainly|of course|okay|alright)\b|\b(?:one|just a) moment(?:,? please)?\b|\b(?:i )?hope (?:this|that|it) (?:helps|works)\b|\bif you need anything else\b|\b(?:what )?(?:is|are|was|were|has been|have been) (?:asked|needed|requested|required)(?: for)?(?=[.!]?\s*$)|\b(?:is there )?anything else[^.?!\n]{0,40}\?|\b(?:this|that) should do(?: it| the trick)?\b|\bdone(?=[.!]?\s*$)|\b(?:do|would) you (?:need|want|like) anything else\?|\b(?:does|did) (?:this|that|it) help\?|\bno (?:other|further|more|additional) (?:calls?|functions?|tools?|tool calls|function calls)(?: (?:is|are) (?:needed|required|necessary))?\b|\bnothing (?:else|more) (?:is )?(?:needed|required|necessary)\b/gi;

const unspaced = /[^\s"'`()<>]{3,}/g;

function withoutAddresses(words: string, ofCalls: string): string {
  return words.replaceAll(unspaced, (found) => {
    const address = found.replace(/[.,;:!?]{1,9}$/, '');
    return /[@/:\\._-]/.test(address) && ofCalls.includes(address) ? ' ' : found;
  });
}

/** A question mark, another object, a line through a text, a comment, a symbol, … */
const unusualCharacter = /[^\p{L}\p{M}\p{N}\s.,;:!'’"“”()\]}`*_=-]/u;

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+(?:['’]\p{L}+)?/gu) ?? [];
}

/** Without an ending, so that "deletes" and "deleted" are words of `delete_file`. */
function stemOf(word: string): string {
  return word.length < 4 ? word : word.replace(/(?:ing|ed|es|s|e)$/, '');
}

/** Characters of the calls whose words may be repeated. */
const maxOfCalls = 4000;

function stemsOf(text: string): ReadonlySet<string> {
  const apart = text.replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})|_/gu, ' ');
  return new Set(wordsOf(apart).map((word) => stemOf(word)));
}

/** Not harmless even where the call has them, as `cancel_order` has: "Cancel that". */
const withdrawing = new Set(
  `no not never none nothing without cancel stop undo revert abort ignore disregard forget skip drop discard retract withdraw remove reject refuse decline
  deny wait hold pause ask confirm approve check verify review example sample test demo template if unless until before after only but instead rather wrong
  mistake error would could might may should must`.split(/\s+/),
);

const plainWords = new Set(
  `a above add adds all also an and any answer answers appropriate are argument arguments as asked at because below by calculate calculates call called calling calls
  chosen computes contain contains correct create creates current currently data does explanation fetch fetches fetching find finding finds fits for from following function functions get gets getting
  give gives given has have help helpful helps here here's his i i'll i've in information into is it it's its json know let look looks matches matching me my note now object of on our
  out parameter parameters performs please provide provided provides query question request requested requests result results retrieve retrieves retrieving
  return returning returns right runs search searches searching select selected selection selects send sending sends sent set sets show showing shows so task
  tell tells thank thanks that that's the their them then there these they this those to tool tools up update updates use used user user's uses using value values
  want wanted wants we welcome which will with work works you your`.split(/\s+/),
);
