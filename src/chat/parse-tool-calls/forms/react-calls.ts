import { damagedCall, plainName, readCall, type ReadEntry } from '../answer-pieces.ts';
import type { AnswerText } from '../answer-text.ts';
import { readJsonArguments } from './json-calls.ts';
import { BlockReader } from '../read-block.ts';
import type { Enclosure, ReadContext } from '../read-context.ts';

const labels = ['thought', 'action', 'action input', 'observation', 'final answer'] as const;
const maxLabel = 40;
/** Maximal characters of the line that names a function and, below, of arguments that are no JSON. */
const maxNameLine = 4096;
const maxInputLine = 64 * 1024;

/** Thought / Action / Action Input / Observation / Final Answer; `end` is after its colon. */
export interface Label {
  label: (typeof labels)[number];
  end: number;
}

/** A label at the beginning of a line, possibly with Markdown such as `**` around it. */
export function labelAt(input: AnswerText, lineStart: number): Label | undefined {
  // With single spaces, and none in front. Grown by each character, because a long text may have a line break at every other one.
  let words = '';
  for (let position = lineStart; position - lineStart < maxLabel; position += 1) {
    const character = input.at(position);
    if (character === '' || character === '\n') return undefined;
    if (character === ':') {
      const written = words.trimEnd();
      const label = labels.find((candidate) => candidate === written);
      return label && { label, end: starsEnd(input, position + 1) };
    }
    if (/[*#_>\s\d]/.test(character)) {
      if (words !== '' && !words.endsWith(' ')) words += ' ';
      continue;
    }
    words += character.toLowerCase();
    if (!labels.some((label) => label.startsWith(words))) return undefined;
  }
  return undefined;
}

function starsEnd(input: AnswerText, from: number): number {
  let end = from;
  while (input.at(end) === '*') end += 1;
  return end;
}

/** The calls after the label "Action", where they end, and the label that follows directly. */
export interface Action {
  entries: ReadEntry[];
  end: number;
  next?: Label;
}

const marked: Enclosure = { isMarked: true, closes: [] };

/** Reads what follows the label "Action" at `from`: JSON, a call with arguments, or a name whose input follows the next label. */
export function readAction(context: ReadContext, from: number): Action {
  const { input } = context;
  const start = input.skipSpace(from);
  const isFenced = input.startsWith('```', start);
  if (isFenced || input.at(start) === '{')
    return readCalls(context, { from, start: isFenced ? input.nameEnd(start + 3) : start, enclosure: { ...marked, closes: ['```'] } });
  const lineEnd = input.find('\n', start, maxNameLine);
  const isLast = lineEnd < 0;
  const nameEnd = isLast ? input.text.length : lineEnd;
  if (nameEnd - start > maxNameLine) return { entries: [], end: from };
  const text = input.text.slice(start, nameEnd);
  const name = plainName(text.replaceAll(/[`'"[\]*]|\(\)/g, ' '));
  const next = isLast ? undefined : labelAt(input, input.skipSpace(nameEnd));
  if (next?.label === 'action input') return readInput(context, name, next.end);
  const follows = next && { next };
  if (/\w\(.*\)$/.test(name))
    return { ...readCalls(context, { from, start, enclosure: { ...marked, allowsPythonicCalls: true } }), ...follows };
  if (name === '' || /^(?:none|n\/a|final answer)$/i.test(name)) return { entries: [], end: from, ...follows };
  return { entries: [input.isCut && isLast ? damagedCall('truncated', text, name) : readCall(name, {}, text)], end: nameEnd, ...follows };
}

function readCalls(context: ReadContext, { from, start, enclosure }: { from: number; start: number; enclosure: Enclosure }): Action {
  const reading = new BlockReader(context, start, enclosure).read();
  return reading.type === 'entries' ? { entries: reading.entries, end: reading.end } : { entries: [], end: from };
}

/** Reads what follows the label "Action Input": JSON, possibly in a fence, or nothing. */
function readInput(context: ReadContext, name: string, from: number): Action {
  const { input } = context;
  let start = input.skipSpace(from);
  const isFenced = input.startsWith('```', start);
  if (isFenced) start = input.skipSpace(input.nameEnd(start + 3));
  const isJson = input.at(start) === '{' || input.at(start) === '"';
  const reading = isJson ? readJsonArguments(context, start, name) : undefined;
  if (reading?.type === 'entries') {
    const after = input.skipSpace(reading.end);
    return { entries: reading.entries, end: isFenced && input.startsWith('```', after) ? after + 3 : reading.end };
  }
  const lineEnd = input.find('\n', start, maxInputLine);
  const end = lineEnd < 0 ? input.text.length : lineEnd;
  const text = input.text.slice(start, end);
  if (input.isCut && lineEnd < 0) return { entries: [damagedCall('truncated', text, name)], end };
  const isNothing = /^(?:none|null|n\/a)?$/i.test(text.trim());
  return { entries: [isNothing ? readCall(name, {}, text) : damagedCall('malformed', text, name)], end };
}
