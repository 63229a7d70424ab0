import { describe, expect, it } from 'vitest';
import type { AnswerPiece } from '../../../src/chat/parse-tool-calls/answer-pieces.ts';
import { AnswerRepairs, repairJson } from '../../../src/chat/parse-tool-calls/json/repair-json.ts';
import { createToolCallParser } from '../../../src/chat/parse-tool-calls/tool-call-parser.ts';

const tools = [{ name: 'note', description: '', parameters: { type: 'object', properties: { text: { type: 'string' } } } }];
/** With a comma too many, so that it has to be repaired. */
const damaged = (text: string): string => `<tool_call>{"name": "note", "arguments": {"text": ${JSON.stringify(text)},}}</tool_call>\n`;

/** Reads an answer as the modes do; `repaired` receives what was repaired in a worker. */
function read(answer: string, repairs: AnswerRepairs, repaired: string[] = []): AnswerPiece[] {
  const parser = createToolCallParser({ tools, isNative: true, quotes: { isQuoted: () => false }, repairs });
  const resumed = (pieces: readonly AnswerPiece[]): AnswerPiece[] => {
    const all = [...pieces];
    for (let text = repairs.awaited; text !== undefined; text = repairs.awaited) {
      repaired.push(text);
      repairs.settle(repairJson(text));
      all.push(...parser.resume());
    }
    return all;
  };
  const pieces = Array.from({ length: Math.ceil(answer.length / 1_000) }, (_, index) => answer.slice(index * 1_000, (index + 1) * 1_000));
  return [...pieces.flatMap((piece) => resumed(parser.push(piece))), ...resumed(parser.flush({ isCut: false }))];
}

const callsIn = (pieces: readonly AnswerPiece[]): unknown[] =>
  pieces.flatMap((piece) => (piece.type === 'call' ? [String(piece.arguments['text']).slice(0, 1)] : []));

describe('the repairs of an answer', () => {
  const letters = ['a', 'b', 'c', 'd', 'e'];

  it('are made at once up to their share in place, of all texts together, and then aside', () => {
    const repaired: string[] = [];
    const answer = letters.map((letter) => damaged(letter.repeat(400))).join('');
    const pieces = read(answer, new AnswerRepairs({ inPlace: 1_000 }), repaired);
    expect(callsIn(pieces)).toEqual(letters);
    expect(repaired.map((text) => /[a-e]{9}/.exec(text)?.[0]?.charAt(0))).toEqual(['c', 'd', 'e']);
  });

  it('end with the budget of the answer: what is beyond stays damaged', () => {
    const answer = letters.map((letter) => damaged(letter.repeat(15_000))).join('');
    for (const inPlace of [1_000, undefined]) {
      const pieces = read(answer, new AnswerRepairs(inPlace === undefined ? {} : { inPlace }));
      expect(callsIn(pieces)).toEqual(['a', 'b', 'c', 'd']);
      expect(pieces.filter(({ type }) => type === 'damaged')).toMatchObject([{ name: 'note', reason: 'malformed' }]);
    }
  });

  it('are paid once for a text, however often it is read', () => {
    const repairs = new AnswerRepairs({ inPlace: 20 });
    for (let times = 0; times < 5; times += 1) expect(repairs.repair('{"a": 1,}')).toEqual({ value: { a: 1 } });
    expect(repairs.repair('["b",]')).toEqual({ value: ['b'] });
    expect(repairs.repair('["other",]')).toBe('not_known_yet');
  });

  it('leave a text that was not repaired in a worker as it is', () => {
    const repairs = new AnswerRepairs({ inPlace: 0 });
    expect(repairs.repair('{"a": 1,}')).toBe('not_known_yet');
    repairs.settle(undefined);
    expect(repairs.repair('{"a": 1,}')).toEqual({ value: undefined });
    expect(repairs.awaited).toBeUndefined();
  });
});

it('a comment is left out of a repaired text, but takes nothing else with it', () => {
  expect(repairJson('{"older": "2020", // only old ones\n"author": "bob",}')).toEqual({ older: '2020', author: 'bob' });
  expect(repairJson('{"older": "2020" // only old ones, "author": "bob"}')).toBeUndefined();
  expect(repairJson('{"a": "x // y }", "b": http://x.test/a, c: 1}')).toEqual({ a: 'x // y }', b: 'http://x.test/a', c: 1 });
});
