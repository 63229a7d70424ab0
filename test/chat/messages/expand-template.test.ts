import { expect, it } from 'vitest';
import { expandTemplate, createTemplateBudget, templateValues } from '../../../src/chat/messages/expand-template.ts';

it('accepts names of variables bare or in braces', () => {
  const values = templateValues({ A: '1', '{{B}}': '2', '{{ C }}': '3', 'D}}': '4' });
  expect([...values]).toEqual([
    ['A', '1'],
    ['B', '2'],
    ['C', '3'],
    ['D', '4'],
  ]);
});

it('reads a name full of white space only once', () => {
  const name = `a${' '.repeat(2_000_000)}b`;
  // With a pattern for white space before an end this takes an hour.
  expect([...templateValues({ [name]: 'x' }).keys()]).toEqual([name]);
});

it('limits the placeholders in all prompts of a request together', () => {
  const values = new Map([['A', 'x']]);
  const room = createTemplateBudget();
  const prompt = '{{A}} {{B}} '.repeat(4_000);
  expect(expandTemplate(prompt, values, room)).toBe('x {{B}} '.repeat(4_000));
  expect(expandTemplate(prompt, values, room)).toHaveLength(prompt.length - 4 * 4_000);
  expect(() => expandTemplate(prompt, values, room)).toThrow('more than 20000 placeholders');
});
