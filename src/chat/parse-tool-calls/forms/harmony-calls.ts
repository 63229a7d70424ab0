import { damagedCall, entryTo, plainName, withText, type Reading } from '../answer-pieces.ts';
import type { AnswerText } from '../answer-text.ts';
import { readJsonArguments } from './json-calls.ts';
import type { ReadContext } from '../read-context.ts';

/** What a header announces: a call, thinking, or text for the user. `end`: where the body of the message begins. */
type HarmonyMessage = { type: 'none' } | { type: 'call'; reading: Reading } | { type: 'reasoning' | 'text'; end: number };

const messageMark = '<|message|>';
const maxHeader = 512;
const maxLeadingSpace = 40;
/** Characters after a fault within which the end of the message is searched for. */
const maxDamage = 4096;
const recipient = /\bto=([\w.\-/:]{1,256})/;

/** gpt-oss: `<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}<|call|>`. */
export function readHarmonyMessage(context: ReadContext, at: number): HarmonyMessage {
  const { input } = context;
  const mark = input.find(messageMark, at, maxHeader);
  if (mark < 0) return { type: 'none' };
  const header = input.text.slice(at, mark);
  const end = mark + messageMark.length;
  const to = recipient.exec(header)?.[1];
  if (to === undefined) return { type: header.includes('<|channel|>analysis') ? 'reasoning' : 'text', end };
  if (to === 'self' || to === 'user') return { type: to === 'self' ? 'reasoning' : 'text', end };
  const name = plainName(to);
  const start = input.skipSpace(end);
  // Muse writes its calls in tags behind such a header.
  if (input.startsWith('<atem:', start)) return { type: 'text', end: start };
  const reading = readJsonArguments(context, start, name);
  if (reading.type === 'entries') return { type: 'call', reading: withText(reading, input.text.slice(at, reading.end), reading.end) };
  const close = input.find('<|', start, maxDamage);
  const stop = close < 0 ? start : close;
  return { type: 'call', reading: entryTo(stop, damagedCall('malformed', input.text.slice(at, stop), name)) };
}

/** The position of a header whose `<|start|>assistant` was part of the prompt, so that the answer begins with ` to=functions.f<|channel|>…`. */
export function headerWithoutStart({ input }: ReadContext, start: number): number | undefined {
  let at = start;
  while (at < start + maxLeadingSpace && /\s/.test(input.at(at))) at += 1;
  if (!input.startsWith('to=', at)) return undefined;
  const nameEnd = input.nameEnd(at + 3);
  const mark = input.skipSpace(nameEnd);
  return nameEnd > at + 3 && input.firstOf(['<|channel|>', '<|constrain|>', messageMark], mark) !== undefined ? at : undefined;
}

/** An answer that lost its marks: `analysisThe user wants…assistantfinalYes.` The next word begins with a capital letter, unlike "analysis". */
export const bareAnalysis = 'analysis';
export const bareHeaders: readonly string[] = ['assistantfinal', 'assistantcommentary', 'assistantanalysis'];

export function beginsBareAnalysis(input: AnswerText, start: number): boolean {
  return input.startsWith(bareAnalysis, start) && /\p{Lu}/u.test(input.at(start + bareAnalysis.length));
}
