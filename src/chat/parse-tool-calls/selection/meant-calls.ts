import type { AnswerPiece, ReadEntry } from '../answer-pieces.ts';

interface MeantPieces {
  pieces: AnswerPiece[];
  /** Names of calls that are only examples. */
  examples: string[];
  around: SaidAround;
}

/** What the model says beside its calls: at most as much as is examined. */
export interface SaidAround {
  /**
   * What introduces the first call that may run. Empty before a call between marks, and after a sentence that has ended, which is
   * reasoning unless it is a mere exclamation or tells of a refusal.
   */
  before: string;
  /** All words behind that call. */
  behind: string;
}

/**
 * Separates the calls of a selection that may run from those that are only examples or quotations. A call does not run when it follows a refusal
 * or an explicit empty selection, repeats the conversation amid prose, is part of a sentence, or belongs to an invented turn of another role.
 * Calls between unmistakable marks always may.
 */
export function meantPieces(all: readonly AnswerPiece[], isQuoted: (text: string) => boolean): MeantPieces {
  const meant: MeantPieces = { pieces: [], examples: [], around: { before: '', behind: '' } };
  let said = '';
  let isDecided = false;
  /** Computed once per list, which may hold thousands of calls: words before and after it concern all of them. */
  let list: { isExample: boolean; isAmidProse: boolean } | undefined;
  for (const [index, piece] of all.entries()) {
    if (isDecided && 'text' in piece && piece.type !== 'call' && piece.type !== 'damaged' && meant.around.behind.length <= maxSaid)
      meant.around.behind += beforeTurn(piece.text).slice(0, maxSaid);
    if (piece.type === 'text') {
      if (beginsTurn(piece.text, isDecided || said.trim() !== '')) return meant;
      said += piece.text;
      list = undefined;
      meant.pieces.push(piece);
    } else if (piece.type === 'nothing-chosen') {
      if (isDecided && isTakenBack(all.slice(0, index), piece.text))
        return { pieces: [piece], examples: namesOf(meant.pieces), around: { before: '', behind: '' } };
      meant.pieces.push(piece);
      if (!isDecided) return meant;
    } else if (piece.type === 'call' || piece.type === 'damaged') {
      list ??= judgeList(piece, { said, after: afterList(all, index), isDecided });
      const isExample: boolean = piece.isBare === true && (list.isExample || (list.isAmidProse && isQuoted(piece.text)));
      if (!isDecided && !isExample && piece.isBare === true) meant.around.before = introductionIn(said);
      isDecided ||= !isExample;
      if (isExample) meant.examples.push(piece.name ?? '');
      else meant.pieces.push(piece);
    }
  }
  return meant;
}

/**
 * Words stand between the calls and the explicit nothing that follows them, in the form that was asked for: a mere `[]` is mostly part of an explanation
 * ("if nothing is found, the result is []").
 */
function isTakenBack(before: readonly AnswerPiece[], nothing: string): boolean {
  if (!nothing.includes('tool_calls')) return false;
  const last = before.findLastIndex((piece) => piece.type === 'call');
  const isAllBare = before.every((piece) => piece.type !== 'call' || piece.isBare === true);
  return isAllBare && before.slice(last).some((piece) => piece.type === 'text' && /\p{L}/u.test(piece.text));
}

function namesOf(pieces: readonly AnswerPiece[]): string[] {
  return pieces.flatMap((piece) => (piece.type === 'call' ? [piece.name] : []));
}

/** The words directly after the list of a call, up to the next list, and the piece behind them. */
interface AfterList {
  words: string;
  next: AnswerPiece | undefined;
}

function afterList(all: readonly AnswerPiece[], index: number): AfterList {
  const isOfList = (piece: AnswerPiece | undefined): boolean => piece?.type === 'call' || piece?.type === 'damaged';
  let at = index + 1;
  while (isOfList(all[at])) at += 1;
  let words = '';
  for (let piece = all[at]; piece?.type === 'text' && words.length <= maxWords; piece = all[at]) {
    words += piece.text.slice(0, maxWords);
    at += 1;
  }
  return { words, next: all[at] };
}

function judgeList(
  entry: ReadEntry,
  { said, after, isDecided }: { said: string; after: AfterList; isDecided: boolean },
): { isExample: boolean; isAmidProse: boolean } {
  const isRefused = !isDecided && explicitNothing.test(said.slice(0, maxSaid));
  return {
    isExample: isRefused || announcesExample(said) || isMentioned(entry, said, after.words) || isReplaced(after),
    isAmidProse: isPlainProse(said) || (/\p{L}/u.test(after.words) && isPlainProse(`${said}${after.words}`)),
  };
}

/** Whether another list stands in place of this one. */
function isReplaced({ words, next }: AfterList): boolean {
  return next?.type === 'call' && replacing.test(words);
}

/** Characters after a list that are examined, of each piece. */
const maxWords = 200;
/** Words between two lists, of which the second stands in place of the first. */
const replacing =
  /\b(?:actually|corrected|correction|instead|oops|rather|revised|sorry|wait)\b[^.!?\n]{0,60}\s{0,9}(?:[`~]{1,9}(?:json)?\s{0,9})?$/iu;

const programLine = /^\s*(?:(?:if|elif|else|for|while|with|def|class|try|except)\b[^\n]{0,150}:[ \t]*(?:\n|$)|import \w|from \w+ import)/;

/**
 * The line of a program, of a quotation, or of a sentence that goes on after the call or leads into it without a colon. The object that the prompt
 * demands counts whatever words follow it.
 */
function isMentioned({ isDemanded = false }: ReadEntry, said: string, after: string): boolean {
  if (programLine.test(after)) return true;
  const line = said.slice(said.lastIndexOf('\n') + 1).slice(-maxSaid);
  if (/^[ \t]*>[ \t]*$/.test(line)) return true;
  if (lastIndexOf(intending, line) !== -1) return false;
  const leadsIn = /[\p{L}\p{N}]["'(“«]?[ \t]*[`"'(]{0,3}$/u.test(line) && line.trim().includes(' ');
  if (leadsIn || isDemanded) return leadsIn;
  return /^[`"')]{0,3}[ \t]*\?|^[`"')]{0,3}(?:[ \t]+(?!or\b)\p{Ll}|, (?:which|that|but|so)\b)/u.test(after);
}

/** How templates and models mark the beginning of a turn in a dialogue. */
const turnBeginning =
  /(?:^|\n)[ \t]*(?:#{2,4} ?(?:instructions?|human|user|question|input|query|response|assistant|task|example)\b|(?:user|human|question|query|student|assistant)[ \t]*:)|<\|im_start\|>[ \t]*(?:user|system|tool|assistant)|<\|?start_header_id\|>|<\|(?:user|assistant|system|endoftext|eot_id)\|>|<start_of_turn>|\[\/?INST\]/gi;

/** Headers of turns that are never the model's, even at the very beginning of the answer. */
const turnOfOtherRole = /^\s*(?:(?:user|human|observation|tool|system)[ \t]*:|<\/?(?:user|human|system)>)/i;

/** Any other header at the very beginning introduces the model's answer itself. */
function beginsTurn(text: string, hasBegun: boolean): boolean {
  if (!hasBegun && turnOfOtherRole.test(text)) return true;
  return Array.from(text.matchAll(turnBeginning)).some(({ index }) => hasBegun || text.slice(0, index).trim() !== '');
}

function beforeTurn(text: string): string {
  const [beginning] = text.matchAll(turnBeginning);
  return turnOfOtherRole.test(text) ? '' : text.slice(0, beginning?.index);
}

/** Characters before or behind a call that are examined. */
const maxSaid = 4000;

/** Explicit empty selections in forms that the prompt does not ask for. Calls after one are examples. */
const explicitNothing =
  /^\s*(?:(?:answer|output|calls?):\s{0,9})?(?:[`~]{1,9}(?:json)?\s{0,9}|["'])?\{\s{0,99}(?:"(?:tool_?calls?|calls|functions?)"\s{0,9}:\s{0,9}(?:null|\{\s{0,9}\}|\[\s{0,9}\])\s{0,99})?\}/i;

/** What was said before a call ends with a refusal or an example, and not with the intention to call. */
function announcesExample(said: string): boolean {
  const last = said.slice(-maxSaid);
  const sentence = lastSentenceOf(last);
  if (/[\p{L}\p{N})"’] ?[?？]["*]{0,9}$/u.test(sentence)) return true;
  // A call that is announced under a condition must not run yet.
  if (lastIndexOf(conditional, sentence) !== -1) return true;
  if (lastIndexOf(dissuading, sentence) > lastIndexOf(intending, sentence)) return true;
  const declined = lastIndexOf(declining, last);
  return declined !== -1 && declined > lastIndexOf(intending, last);
}

/** Whether a sentence speaks against a call that stands before or behind it. */
export function speaksAgainst(sentence: string): boolean {
  return [declining, conditional, dissuading].some((patterns) => lastIndexOf(patterns, sentence) !== -1);
}

/** Whether the last sentence before a call questions it, speaks against it, or says that it is an example. */
export function postponesCall(said: string): boolean {
  const sentence = lastSentenceOf(said);
  if (/[?？]["*”)]{0,9}$/u.test(sentence) || lastIndexOf(conditional, sentence) !== -1) return true;
  return Math.max(lastIndexOf(declining, sentence), lastIndexOf(dissuading, sentence)) > lastIndexOf(intending, sentence);
}

/** Whether a sentence says that a call follows. */
export function announcesCall(sentence: string): boolean {
  return lastIndexOf(intending, sentence) !== -1;
}

/**
 * Whether a native answer goes on from these words to calls in Gemma's fence for them: it has announced them, or its last sentence has ended. A colon
 * alone introduces an example as well.
 */
export function leadsToCalls(said: string): boolean {
  if (announcesExample(said)) return false;
  const sentence = lastSentenceOf(said);
  return announcesCall(sentence) || sentenceEnd.test(sentence);
}

/** The sentence or line that leads to the call, without the fence that opens after it; at most 400 characters. */
function lastSentenceOf(said: string): string {
  const end = said
    .slice(-400)
    .trimEnd()
    .replace(/[`~]{1,9}\w{0,20}$/, '')
    .trimEnd();
  let start = end.length - 1;
  while (start > 0 && !'.!?。！？\n'.includes(end.charAt(start - 1))) start -= 1;
  return end.slice(Math.max(0, start));
}

const sentenceEnd = /[.!。！]["'”*)]{0,9}$/u;

function introductionIn(said: string): string {
  const sentence = lastSentenceOf(said);
  const hasEnded = sentenceEnd.test(sentence);
  return hasEnded && sentence.split(/\s+/).length > maxExclamation && !refusing.test(sentence) ? '' : sentence;
}

/** Words of a sentence such as "Nope." or "Pending user approval.", which is no reasoning. */
const maxExclamation = 3;

const refusing =
  /\b(?:(?:cancel|reject|refus|declin|abort|revok|withdr|block)\w*|decided against|changed \w+ mind|trap|trick\w*|attack\w*|hack\w*|inject\w*)\b/i;

/** Words that do not say that a call follows. */
function isPlainProse(said: string): boolean {
  const last = said.slice(-maxSaid);
  return last.trim() !== '' && lastIndexOf(intending, last) === -1;
}

function lastIndexOf(patterns: readonly RegExp[], text: string): number {
  return Math.max(-1, ...patterns.flatMap((pattern) => Array.from(text.matchAll(pattern), (match) => match.index)));
}

const declining = [
  // Refusals.
  /\b(?:unfortunately|cannot|can't|can ?not|unable to|not able to|none of (?:the|these)|no (?:[\w-]+ ){0,2}(?:functions?|tools?)|not (?:directly |really |quite )?(?:suitable|applicable|relevant|related|possible|available|provided?|designed|appropriate|necessary|needed|required|meant|answer))\b/gi,
  /\b(?:does|do|did|is|are|would)(?: not|n't|n’t) (?:\w+ ){0,4}?(?:match|provide|answer|support|fit|have|contain|include|apply|cover|help|allow|exist|related?|require|need|suitable|call)\b/gi,
  /\b(?:won['’]t|will not|(?:should|must|shall)(?:n['’]t| not)|do(?:n['’]t| not) (?:run|call|execute|use)|refuse|decline|never|instead of|no need|dangerous|injection|lacks?|wrong)\b/gi,
  /^\s*(?:none|null|n\/a|nothing)\b/gi,
  // Questions, and calls that depend on their answers.
  /\b(?:(?:should|shall|may) i|would you like|do you want|need more information|please (?:confirm|provide|specify|tell)|once (?:you|provided|confirmed|the user)|after (?:your|you|confirmation)|(?<!\bno )(?:confirmation|approval|consent|permission) (?:is|will be) (?:\w+ )?(?:required|needed|necessary|missing|pending)|(?:needs?|requires?|await(?:s|ing)?|wait(?:s|ing)? for|ask(?:s|ing)? for) (?:(?!no\b)\w+ ){0,2}(?:confirmation|approval|consent|permission)|(?:must|(?:has|have|needs?) to) (?:agree|confirm|approve))\b/gi,
  // Calls of the past, and documentation.
  /\b(?:earlier|previous(?:ly)?|already|documentation|usage|syntax)\b/gi,
  /(?:^|\n)(?:POST|PUT|PATCH|DELETE|GET) \S+/g,
  // Examples and conditions.
  /\b(?:for example|for instance|e\.g\.|examples?|hypothetical(?:ly)?|would (?:\w+ )?(?:call|use|need|make|invoke)|could (?:\w+ )?(?:call|use|be|look|make)|you can|how to|if (?:you|we|i|the|that)|assum(?:e|es|ing)|suppose|placeholders?)\b/gi,
  // German, Dutch, French, Spanish, Portuguese, Italian, Polish, Russian, Turkish.
  /\b(?:leider|nicht (?:möglich|geeignet|nötig|verfügbar|passend|direkt)|k(?:ann|önnen) (?:\w+ ){0,3}nicht|keine (?:\w+ )?funktion|zum beispiel|z\. ?b\.|beispiel|beispielsweise|würde|könnte|helaas|kan (?:\w+ ){0,3}niet|geen (?:\w+ )?functie|bijvoorbeeld|voorbeeld|zou)\b/giu,
  /(?:malheureusement|\bne (?:\S{1,30} ){1,2}pas\b|\bn['’]\S{1,30} pas\b|aucune? (?:\S{1,30} )?(?:fonction|outil)|par exemple|\bexemple\b|pourrait|pourriez)/giu,
  /(?:lamentablemente|desafortunadamente|\bno (?:puedo|puede|hay|existe|es posible|corresponde|es adecuad)|ningun[ao]|por ejemplo|\bejemplo\b|podría|infelizmente|\bnão (?:posso|pode|há|existe|é)|nenhuma?|por exemplo|\bexemplo\b|poderia)/giu,
  /(?:purtroppo|\bnon (?:posso|può|è|c'è|esiste)|nessuna? |(?:ad|per) esempio|\besempio\b|potrebbe|niestety|\bnie (?:mogę|można|ma|jest|pasuje)|na przykład|\bnp\.|к сожалению|\sне (?:могу|может|можно|подходит)|нет (?:\S{1,30} )?функци|например|maalesef|örneğin)/giu,
  // Chinese, Japanese, Korean.
  /(?:抱歉|无法|無法|不能|没有[^。]{0,12}(?:函数|工具|功能)|沒有[^。]{0,12}(?:函數|工具)|不适合|不適合|例如|比如|示例|举例|如果|残念|できません|ありません|適していません|例えば|例：|もし|죄송|할 수 없|없습니다|예를 들어|만약)/gu,
] as const;

/** Conditions that postpone a call. */
const conditional = [
  /\b(?:once|until|as soon as|when|after) (?:(?:provided|confirmed|approved|given|known|supplied|specified|received)\b|(?:you|the user|they) (?:have |has )?(?:send|provide|give|tell|confirm|approve|agree|name|specify|share|reply|answer)|[^.!?\n,;:]{1,60}? (?:is|are|has been|have been) (?:provided|confirmed|approved|given|known|supplied|specified|received|granted|available)\b)/gi,
  /\bif (?:you|the user) (?:confirm|approve|agree|allow)/gi,
  /\b(?:(?:once|until|as soon as) i (?:have|know|get|receive|hear)|provided that)\b/gi,
] as const;

/** Words in the sentence before a call that speak against running it: negation, uncertainty, quotation, template. */
const dissuading = [
  /\b(?:not|never|without|maybe|perhaps|avoid|ignor\w+|skip\w*|omit\w*|forbidden|prohibited|malicious|harmful|template|sample outputs?|demonstrat\w+|illustrat\w+|yourself|said|says|wrote|contains|contained|what if|confirm\w*|permission|missing)\b|n['’]t\b/giu,
  // A result that is quoted.
  /\b(?:results?|outputs?|responses?|reply|replies|contents?) (?:of|from) (?:the|my|that|this|an?) [^.!?\n:]{1,60}? (?:was|were|read|said)\b|\bsearch results?:|\baccording to the (?:search|page|file|document|website|e-?mail)\s?:?$|\b(?:search|query|lookup|page|file|document|website|e-?mail|tool|server|api|command)(?: \w+){0,2} (?:returned|answered|replied|responded|showed|stated|reported|yielded|reads|had|gave back|found was)(?: \w+){0,3}\s?:?$/giu,
  /(?:ergebnis|ausgabe|résultat|resultado|risultato)\p{L}*(?: \S{1,30}){1,4} (?:war(?:en)?|lautete|était|fue|era|foi)(?![\p{L}])/giu,
  /(?<![\p{L}])(?:nicht|kein\p{L}*|niet|geen|pas|jamais|nunca|não|non|mai|nie|не|нет|no debo|no se debe|refuse|vielleicht|peut-être|quizás|talvez|forse)(?![\p{L}])/giu,
  /(?:不|别|勿|ない|ません|않|없)/gu,
] as const;

const intending = [
  /\b(?:i will|i'll|i’ll|let me|let's (?!assume|say|suppose)|let us (?!assume|say|suppose)|i am going to|i'm going to|we will|we'll|i need to call|we need to call|i should call|here you (?:are|go)|the (?:function )?calls? (?:is|are|to answer))\b/gi,
  /(?:\bich (?:werde|rufe)\b|\blass mich\b|\bik (?:zal|ga)\b|\bje vais\b|\bvoy a\b|\bvou (?:chamar|usar)\b|\bchiamerò\b|我将|我會|我会|让我|我需要(?:使用|呼叫|调用)|呼び出します|호출하겠습니다|я вызову)/giu,
] as const;
