import { plainName } from './plain-name.ts';
import type { Reading, Scan } from './call-pieces.ts';
import { findMark } from './find-mark.ts';
import type { ReadContext } from './read-context.ts';
import { readJsonArguments } from './read-json-entry.ts';
import { skipSpace } from './run-ends.ts';

/** What a header announces: a call, thinking, or text for the reader. `end`: where the message's own words begin. */
export type HarmonyMessage =
  | { type: 'none' }
  | { type: 'call'; reading: Reading }
  | { type: 'reasoning'; end: number }
  | { type: 'text'; end: number };

const messageMark = '<|message|>';
const maxHeader = 512;
/** How far behind a fault the end of the message is looked for. */
const maxDamage = 4096;
const recipient = /\bto=([\w.\-/:]{1,256})/;

/** gpt-oss: `<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}<|call|>`. */
export function* readHarmony(context: ReadContext, at: number): Scan<HarmonyMessage> {
  const { input } = context;
  const mark = yield* findMark(input, at, { mark: messageMark, maxDistance: maxHeader });
  if (mark < 0) return { type: 'none' };
  const header = input.text.slice(at, mark);
  const end = mark + messageMark.length;
  const to = recipient.exec(header)?.[1];
  if (to === undefined) return { type: header.includes('<|channel|>analysis') ? 'reasoning' : 'text', end };
  const name = plainName(to);
  const payload = yield* skipSpace(input, end);
  const reading = yield* readJsonArguments(context, payload, name);
  if (reading.type === 'entries') {
    const text = input.text.slice(at, reading.end);
    return { type: 'call', reading: { ...reading, entries: reading.entries.map((entry) => ({ ...entry, text })) } };
  }
  const close = yield* findMark(input, payload, { mark: '<|', maxDistance: maxDamage });
  const stop = close < 0 ? payload : close;
  return {
    type: 'call',
    reading: { type: 'entries', end: stop, entries: [{ type: 'damaged', reason: 'malformed', name, text: input.text.slice(at, stop) }] },
  };
}
