import { expect, it } from 'vitest';
import type { OfferChange } from '../../../src/core/tools/offer-changes.ts';
import { createOfferChanges } from '../../../src/tools/catalog/offer-changes.ts';

it('reports simultaneous changes once, only to those they concern, and no earlier ones', async () => {
  const changes = createOfferChanges();
  changes.publish({ lists: ['prompts'] });
  const heard: [string, OfferChange][] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const caller of ['one', 'one/ada', 'two']) changes.subscribe(caller, (change) => void heard.push([caller, change]));
  const leave = changes.subscribe('one', () => expect.unreachable());
  changes.subscribe('last', () => resolve());
  changes.publish({ lists: ['tools'] });
  changes.publish({ lists: ['resources', 'tools'] });
  changes.publish({ lists: ['prompts'], ownerId: 'one' });
  leave();
  await promise;
  const everybody = { lists: ['tools', 'resources'] };
  const ofOne = { lists: ['prompts'], ownerId: 'one' };
  expect(heard).toEqual([
    ['one', everybody],
    ['one', ofOne],
    ['one/ada', everybody],
    ['one/ada', ofOne],
    ['two', everybody],
  ]);
});
