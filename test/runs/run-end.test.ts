import { expect, test } from 'vitest';
import { RunEnd } from '../../src/runs/run-end.ts';

test('who waits for the end of a run is told once, and who comes later at once', () => {
  const end = new RunEnd();
  const told: string[] = [];
  end.whenOver(() => told.push('first'));
  end.whenOver(() => told.push('second'));
  expect(told).toEqual([]);
  end.come();
  end.come();
  end.whenOver(() => told.push('late'));
  expect(told).toEqual(['first', 'second', 'late']);
});
