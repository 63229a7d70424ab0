import { expect, it } from 'vitest';
import { ReasoningDetails } from '../../../src/models/openai/reasoning-details.ts';

const kilobytes = 200;

it('keeps no more of reasoning than can be serialized at once', () => {
  const details = new ReasoningDetails();
  let counted = 0;
  for (let part = 0; part < 100; part += 1) {
    // Further fields of one entry, each in a fragment of its own.
    const fields = Object.fromEntries(Array.from({ length: kilobytes }, (_, index) => [`f${part}-${index}`, 'x'.repeat(1_000)]));
    counted += details.add([{ type: 'reasoning.text', index: 0, text: 'a', ...fields }]);
  }
  expect(counted, 'all of it counts against the limit of an answer').toBeGreaterThan(100 * kilobytes * 1_000);
  const kept = JSON.stringify(details.fields());
  expect(kept.length).toBeGreaterThan(1_000_000);
  expect(kept.length).toBeLessThan(2.5 * 1024 * 1024);
});
