import { expect, it } from 'vitest';
import { GatewayError } from '../../src/core/errors.ts';
import type { BackendConfig } from '../../src/core/models/backend-config.ts';
import { createBackendEntries } from '../../src/storage/backend-entries.ts';
import { memoryRegistry } from '../_support/memory-stores.ts';
import { backendConfig } from './records.ts';

const usual = backendConfig({ kind: 'ollama', name: 'ollama', origin: 'environment', isExplicit: false });
const fixed = backendConfig({ name: 'fixed', origin: 'file' });
const namesOf = (entries: readonly BackendConfig[]): string[] => entries.map(({ name }) => name);

it('lists the same array until something changes', async () => {
  const registry = memoryRegistry();
  const entries = createBackendEntries({ registry, fixed: [fixed] });
  const first = await entries.list();
  await registry.writeFact('a', 'b');
  expect(await entries.list()).toBe(first);
  await entries.create(backendConfig({ name: 'lab' }));
  const second = await entries.list();
  expect(namesOf(second)).toEqual(['fixed', 'lab']);
  await entries.change(backendConfig({ name: 'lab', prefix: 'p' }));
  expect(await entries.list()).not.toBe(second);
  await entries.delete('lab');
  expect(namesOf(await entries.list())).toEqual(['fixed']);
});

it('lists no stored backend under the name of a configured one, which cannot be changed', async () => {
  const registry = memoryRegistry();
  await registry.createBackend(backendConfig({ name: 'fixed', prefix: 'stored' }));
  const entries = createBackendEntries({ registry, fixed: [fixed] });
  expect(await entries.list()).toEqual([fixed]);
  await expect(entries.delete('fixed')).rejects.toMatchObject({ code: 'read_only' });
  await expect(entries.change(backendConfig({ name: 'fixed' }))).rejects.toMatchObject({ code: 'read_only' });
  await expect(entries.create(backendConfig({ name: 'fixed' }))).rejects.toMatchObject({ code: 'conflict' });
});

it.each<[string, Partial<BackendConfig>]>([
  ['another Ollama', { kind: 'ollama', name: 'gpu' }],
  ['a backend with its name', { kind: 'openai', name: 'ollama' }],
])('lets %s take the place of the Ollama at the default address', async (_what, fields) => {
  const entries = createBackendEntries({ registry: memoryRegistry(), fixed: [usual, fixed] });
  expect(namesOf(await entries.list())).toEqual(['ollama', 'fixed']);
  await entries.create(backendConfig(fields));
  expect(await entries.list()).toMatchObject([{ name: 'fixed' }, { ...fields, isExplicit: true }]);
  await entries.delete(fields.name ?? '');
  expect(await entries.list()).toEqual([usual, fixed]);
});

it('lists what was there last while the store cannot be read, and changes nothing then', async () => {
  const registry = memoryRegistry();
  let fault: Error | undefined;
  const listBackends = async (): Promise<readonly BackendConfig[]> => {
    if (fault !== undefined) throw fault;
    return registry.listBackends();
  };
  const entries = createBackendEntries({ registry: { ...registry, listBackends }, fixed: [fixed] });
  await entries.create(backendConfig({ name: 'lab' }));
  await entries.list();
  fault = new GatewayError('storage_unavailable', 'The disk is gone.');
  expect(namesOf(await entries.list())).toEqual(['fixed', 'lab']);
  await expect(entries.delete('lab')).rejects.toBe(fault);
  fault = new Error('a bug');
  await expect(Promise.resolve(entries.list())).rejects.toBe(fault);
});
