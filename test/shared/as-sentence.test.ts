import { expect, test } from 'vitest';
import { asSentence } from '../../src/shared/as-sentence.ts';

test.each([
  ['down', 'down.'],
  ['It is down.', 'It is down.'],
  ['Gone!\n', 'Gone!'],
  ['Why? ', 'Why?'],
  ['and so on…', 'and so on…'],
])('%j before other words is %j', (message, sentence) => {
  expect(asSentence(message)).toBe(sentence);
});
