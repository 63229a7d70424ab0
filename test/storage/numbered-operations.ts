import type { Registry } from '../../src/core/stores/registry.ts';
import { toolServerRecord } from './records.ts';

/** The write with this number, always the same: every third creates a tool server, the next remembers it, the next changes or deletes it. */
export async function runOperation(registry: Registry, number: number): Promise<void> {
  const record = (index: number) =>
    toolServerRecord({ id: `s${index}`, key: `key of ${index}`, headers: { 'x-number': `${index}` }, spec: 'x'.repeat(index * 37) });
  if (number % 3 === 0) return registry.createToolServer(record(number));
  if (number % 3 === 1) return registry.writeFact('last', `s${number - 1}`);
  return number % 2 === 0
    ? registry.changeToolServer({ ...record(number - 2), tags: [`changed by ${number}`] })
    : registry.deleteToolServer(`s${number - 2}`);
}
