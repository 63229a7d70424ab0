import { expect, it, onTestFinished, vi } from 'vitest';
import type { StoredResponse } from '../../../../src/core/stores/response-store.ts';
import { withinBounds } from '../../../../src/http/dialects/responses/stored/store-answers.ts';
import { storedAnswerCharacters } from '../../../../src/http/dialects/answers/store-answer.ts';

const responseWith = (text: string): StoredResponse => ({
  id: 'resp_1',
  callerId: 'caller',
  created: 0,
  previousId: undefined,
  isRunning: false,
  input: Array.from({ length: 4 }, (_, index) => ({ id: `item_${index}`, type: 'message', role: 'user', content: text })),
  response: { id: 'resp_1' },
});

it('what is certainly too large to be stored is not serialized to find out', () => {
  const stringify = vi.spyOn(JSON, 'stringify');
  onTestFinished(() => stringify.mockRestore());
  expect(withinBounds(responseWith('a'.repeat(storedAnswerCharacters / 2)))).toBeUndefined();
  expect(stringify).not.toHaveBeenCalled();
  const small = responseWith('a');
  expect(withinBounds(small)).toBe(small);
  // A character may take six in JSON.
  expect(withinBounds(responseWith('\u0001'.repeat(storedAnswerCharacters / 8)))).toBeUndefined();
});
