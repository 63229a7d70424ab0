import { expect, it } from 'vitest';
import { parseMode } from '../../src/chat/modes/choose-mode.ts';
import { modeNames } from '../../src/core/chat/mode-names.ts';

it('every name of a mode that settings and presets take is one that a chat knows, and there is no other', () => {
  expect(modeNames.map((name) => typeof parseMode(name))).toEqual(modeNames.map(() => 'string'));
  const named = /Use one of: (.*)\.$/.exec(messageOf(() => parseMode('magic')))?.[1]?.split(', ');
  expect(named?.toSorted()).toEqual([...modeNames].toSorted());
});

function messageOf(work: () => unknown): string {
  try {
    work();
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
}
