import { expect, it } from 'vitest';
import { RunThoughts } from '../../../src/chat/thoughts/run-thoughts.ts';
import type { RunEvent } from '../../../src/core/chat/run-event.ts';
import { memorySeals } from '../../_support/memory-stores.ts';

it('seals for the model that answers at the moment', () => {
  const seals = memorySeals();
  const thoughts = new RunThoughts(seals, 'ann', 'm');
  const modelOf = (text: string) => seals.open('ann', text)?.model;
  expect(modelOf(thoughts.seal({}))).toBe('m');
  const warning = (data: object) => ({ type: 'warning', data: { code: 'model_fallback', message: 'n answers.', ...data } }) as RunEvent;
  thoughts.note(warning({ model: 'of a preset within', within: 'c1' }));
  expect(thoughts.model).toBe('m');
  thoughts.note(warning({ model: 'n' }));
  expect(modelOf(thoughts.seal({}))).toBe('n');
});
