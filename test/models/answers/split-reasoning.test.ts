import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReasoningSplitter, splitReasoning } from '../../../src/models/answers/split-reasoning.ts';
import type { ReasoningOptions } from '../../../src/models/answers/split-reasoning.ts';
import { ReasoningTemplateCache } from '../../../src/models/answers/reasoning-template-cache.ts';
import { countSteps } from '../../_support/count-steps.ts';

interface Parted {
  reasoning: string;
  text: string;
  opensInTemplate: boolean | undefined;
}

function part(pieces: string[], options: ReasoningOptions & { isCut?: boolean } = {}): Parted {
  const splitter = new ReasoningSplitter(options);
  const found = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.flush(options)];
  const of = (type: string): string => found.flatMap((piece) => (piece.type === type ? [piece.text] : [])).join('');
  return { reasoning: of('reasoning'), text: of('text'), opensInTemplate: splitter.opensInTemplate };
}

const cases: [name: string, text: string, reasoning: string, rest: string][] = [
  ['plain text', 'Hello there.', '', 'Hello there.'],
  ['a block', '<think>Hm.</think>Yes.', 'Hm.', 'Yes.'],
  ['white space around a block', '\n \u00a0<think>\n Hm.\n</think>\n\nYes.', 'Hm.\n', 'Yes.'],
  ['capitals', '<THINK>Hm.</Think>Yes.', 'Hm.', 'Yes.'],
  ['thinking', '<thinking>Hm.</thinking>Yes.', 'Hm.', 'Yes.'],
  ['reason', '<reason>Hm.</reason>Yes.', 'Hm.', 'Yes.'],
  ['reasoning', '<reasoning>Hm.</reasoning>Yes.', 'Hm.', 'Yes.'],
  ['thought', '<thought>Hm.</thought>Yes.', 'Hm.', 'Yes.'],
  ['Kimi', '◁think▷Hm.◁/think▷Yes.', 'Hm.', 'Yes.'],
  ['begin_of_thought', '<|begin_of_thought|>Hm.<|end_of_thought|>Yes.', 'Hm.', 'Yes.'],
  ['Mistral', '[THINK]Hm.[/THINK]Yes.', 'Hm.', 'Yes.'],
  ['an empty block', '<think>\n\n</think>\n\nYes.', '', 'Yes.'],
  ['two blocks', '<think>One.</think>\n<think>Two.</think>\nYes.', 'One.Two.', 'Yes.'],
  ['a block that is never closed', '<think>Hm. 1 <', 'Hm. 1 <', ''],
  ['another closing tag within a block', '<think>a</thought> b</think>Yes.', 'a</thought> b', 'Yes.'],
  ['what only begins like a tag', '<thoughts>are free</thoughts>', '', '<thoughts>are free</thoughts>'],
  ['half a tag at the end', 'Less: a <', '', 'Less: a <'],
  ['a block later on', 'Use <think>this</think> tag.\n</think>\n', '', 'Use <think>this</think> tag.\n</think>\n'],
  ['a block after the answer began', '<think>Hm.</think>Yes.\n</think>\n<think>x</think>', 'Hm.', 'Yes.\n</think>\n<think>x</think>'],
  ['a closing tag in a code span', 'The tag `</think>` closes.', '', 'The tag `</think>` closes.'],
  ['a closing tag in a fence', '```xml\n</think>\n```\nSo.', '', '```xml\n</think>\n```\nSo.'],
  ['a closing tag amid a sentence', 'The tag </think> closes.', '', 'The tag </think> closes.'],
  ['a list in JSON', '["a","b"]', '', '["a","b"]'],
  ['only white space', ' \n', '', ' \n'],
  ['nothing', '', '', ''],
];

describe('ReasoningSplitter', () => {
  it.each(cases)('parts %s, for every cut and character by character', (_, text, reasoning, rest) => {
    const expected = { reasoning, text: rest };
    expect(part([text])).toMatchObject(expected);
    expect(part(text.split(''))).toMatchObject(expected);
    for (let offset = 0; offset <= text.length; offset += 1)
      expect(part([text.slice(0, offset), text.slice(offset)])).toMatchObject(expected);
  });

  it.each([
    ['at the edge of a line', 'Hm.\n</think>\n\nYes.', 'Hm.\n\n\nYes.'],
    ['after a sentence', 'Let me think...</think>Yes.', 'Let me think...Yes.'],
    ['at the start', '</think>\n\nYes.', 'Yes.'],
    ['at the end', 'Hm, hm </think>', 'Hm, hm '],
    ['after code', 'So `a` it is:\n```js\nb\n```\n</think>\nYes.', 'So `a` it is:\n```js\nb\n```\n\nYes.'],
  ])('drops a closing tag without opening %s, and learns from it', (_, text, rest) => {
    const expected = { reasoning: '', text: rest, opensInTemplate: true };
    expect(part(text.split(''))).toEqual(expected);
    for (let offset = 0; offset <= text.length; offset += 1) expect(part([text.slice(0, offset), text.slice(offset)])).toEqual(expected);
  });

  it.each([
    ['up to the closing tag', 'Hm.</think>Yes.', { reasoning: 'Hm.', text: 'Yes.', opensInTemplate: true }],
    ['up to any closing tag', 'Hm, see `b`.</thinking>Yes.', { reasoning: 'Hm, see `b`.', text: 'Yes.', opensInTemplate: true }],
    ['nothing, closed at once', '</think>Yes.', { reasoning: '', text: 'Yes.', opensInTemplate: true }],
    ['a block of the model itself', '<think>Hm.</think>Yes.', { reasoning: 'Hm.', text: 'Yes.', opensInTemplate: false }],
    ['given again as text when nothing closed it', ' Yes, a <', { reasoning: 'Yes, a <', text: ' Yes, a <', opensInTemplate: false }],
    ['nothing at all', '', { reasoning: '', text: '', opensInTemplate: undefined }],
  ])('in an open block: %s', (_, text, expected) => {
    expect(part([text], { isOpen: true })).toEqual(expected);
    expect(part(text.split(''), { isOpen: true })).toEqual(expected);
  });

  it('keeps an open block that was cut, and unlearns nothing', () => {
    expect(part(['Hm, so'], { isOpen: true, isCut: true })).toEqual({ reasoning: 'Hm, so', text: '', opensInTemplate: undefined });
  });

  it('says text at once when no tag can begin with it', () => {
    const splitter = new ReasoningSplitter();
    expect(splitter.push('H')).toEqual([{ type: 'text', text: 'H' }]);
    expect(splitter.push('i <b>')).toEqual([{ type: 'text', text: 'i <b>' }]);
    expect(splitter.push(' a <th')).toEqual([{ type: 'text', text: ' a ' }]);
    expect(splitter.push('e>')).toEqual([{ type: 'text', text: '<the>' }]);
  });

  it('loses no character of any text, whatever its cuts', () => {
    const bits = fc.constantFrom(
      '<',
      '</',
      'think',
      'ing',
      '>',
      '◁',
      '/think▷',
      '`',
      '```',
      '\n',
      ' ',
      'a.',
      '[',
      'THINK]',
      '<think>',
      '</think>',
    );
    fc.assert(
      fc.property(fc.array(bits, { maxLength: 14 }), fc.boolean(), (pieces, isOpen) => {
        const whole = part([pieces.join('')], { isOpen });
        expect(part(pieces, { isOpen })).toEqual(whole);
        expect(part(pieces.join('').split(''), { isOpen })).toEqual(whole);
        const said = (whole.reasoning + whole.text).replaceAll(/\s/g, '');
        for (const letter of pieces.join('').replaceAll(/[^a`]/g, '')) expect(said).toContain(letter);
      }),
      { numRuns: 2000 },
    );
  });

  it('reads a megabyte of backticks, brackets and white space in few steps', () => {
    for (const text of ['`', '<', ' ', '<think', '[', '\n`<'].map((bit) => bit.repeat(200_000)))
      expect(countSteps(() => void part([text.slice(0, 99), text.slice(99)]))).toBeLessThan(60 * text.length);
  });
});

describe('splitReasoning', () => {
  it.each([
    ['Hm.\n</think>\n\nYes.', {}, 'Hm.', 'Yes.'],
    ['Quote `</think>` first.\n</think>\nYes.', {}, 'Quote `</think>` first.', 'Yes.'],
    ['Hm</think>Yes.', { isOpen: true }, 'Hm', 'Yes.'],
    ['Yes.', { isOpen: true }, '', 'Yes.'],
    ['Hm', { isOpen: true, isCut: true }, 'Hm', ''],
    ['<think>Hm.</think>Yes.', {}, 'Hm.', 'Yes.'],
    ['The tag </think> closes.', {}, '', 'The tag </think> closes.'],
  ])('parts the whole answer %j (%j)', (text, options, reasoning, rest) => {
    expect(splitReasoning(text, options)).toMatchObject({ reasoning, text: rest });
  });
});

describe('ReasoningTemplateCache', () => {
  it('learns, unlearns, and forgets the oldest of too many', () => {
    const memory = new ReasoningTemplateCache();
    memory.learn('a', true);
    memory.learn('a', undefined);
    expect(memory.startsInReasoning('a')).toBe(true);
    memory.learn('a', false);
    expect(memory.startsInReasoning('a')).toBe(false);
    for (let count = 0; count <= 1000; count += 1) memory.learn(`m${count}`, true);
    expect([memory.startsInReasoning('m0'), memory.startsInReasoning('m1')]).toEqual([false, true]);
  });
});
