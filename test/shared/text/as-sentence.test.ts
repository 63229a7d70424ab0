import { expect, it } from 'vitest';
import { asSentence } from '../../../src/shared/text/as-sentence.ts';

it.each([
  ['down', 'down.'],
  ['It is down.', 'It is down.'],
  ['Gone!\n', 'Gone!'],
  ['Why? ', 'Why?'],
  ['and so on…', 'and so on…'],
])('%j before other words is %j', (message, sentence) => {
  expect(asSentence(message)).toBe(sentence);
});
