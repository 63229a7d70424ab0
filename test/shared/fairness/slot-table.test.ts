import { array, assert, boolean, constantFrom, property, record } from 'fast-check';
import { expect, it } from 'vitest';
import { SlotTable } from '../../../src/shared/fairness/slot-table.ts';

const keys = constantFrom('a', 'b', 'c', 'd', 'e', 'f');

it('holds what a Map would hold, in the same order, whatever came and went', () => {
  assert(
    property(array(record({ key: keys, isDeleted: boolean() }), { maxLength: 60 }), (steps) => {
      const table = new SlotTable<{ step: number }>();
      const map = new Map<string, { step: number }>();
      for (const [step, { key, isDeleted }] of steps.entries()) {
        if (isDeleted) {
          table.delete(key);
          map.delete(key);
        } else {
          table.set(key, { step });
          map.set(key, { step });
        }
        expect(table.get(key)).toEqual(map.get(key));
      }
      expect([table.size, table.entries(), table.values()]).toEqual([map.size, [...map], [...map.values()]]);
    }),
  );
});

it('can be changed while its values are read', () => {
  const table = new SlotTable<{ id: string }>();
  for (const id of ['a', 'b', 'c']) table.set(id, { id });
  for (const { id } of table.values()) table.delete(id);
  expect(table.size).toBe(0);
});
