import { damagedCall, entryTo, noCall, plainName, withText, type Reading } from '../answer-pieces.ts';
import type { ReadContext } from '../read-context.ts';
import { readJsonArguments } from './json-calls.ts';
import { readTagged } from './named-calls.ts';

/** Of the server, and of its function. */
export const serverOpenings = ['<server_name>', '<tool_name>', '<name>'];
const argumentsOpenings = ['<arguments>', '<parameters>'];
const maxName = 256;

/** Cline: `<server_name>s</server_name><tool_name>f</tool_name><arguments>{…}</arguments>`; Cherry Studio: `<name>f</name>` instead, and others: `<parameters>`. */
export function readServerCall(context: ReadContext, at: number): Reading {
  const { input } = context;
  const names = new Map<string, string>();
  let position = at;
  for (;;) {
    const open = input.firstOf(serverOpenings, position);
    if (open === undefined) break;
    const name = readTagged(input, position, { tag: open.slice(1, -1), maxDistance: maxName });
    if (typeof name === 'string' || names.has(open)) return noCall(position);
    names.set(open, name.text);
    position = input.skipSpace(name.end);
  }
  const name = plainName(names.get('<tool_name>') ?? names.get('<name>') ?? '');
  const argumentsOpen = input.firstOf(argumentsOpenings, position);
  if (name === '' || argumentsOpen === undefined) return noCall(position);
  const argumentsClose = argumentsOpen.replace('<', '</');
  const start = input.skipSpace(position + argumentsOpen.length);
  const reading = readJsonArguments(context, start, name);
  if (reading.type !== 'entries') {
    const close = input.find(argumentsClose, start, maxName);
    return close < 0 ? noCall(start) : entryTo(close + argumentsClose.length, damagedCall('malformed', input.text.slice(at, close), name));
  }
  const after = input.skipSpace(reading.end);
  const end = input.startsWith(argumentsClose, after) ? after + argumentsClose.length : reading.end;
  return withText(reading, input.text.slice(at, end), end);
}
