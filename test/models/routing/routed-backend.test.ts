import { expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { CatalogBackend } from '../../../src/models/catalog/catalog-backend.ts';
import { AddressPool } from '../../../src/models/routing/address-pool.ts';
import { createRoutedBackend } from '../../../src/models/routing/routed-backend.ts';
import { backendOf } from '../../_support/build-app.ts';
import { ScriptedModel } from '../../_support/scripted-model.ts';

const signal = new AbortController().signal;
const down = new GatewayError('upstream_unreachable', 'It cannot be reached.');

/** An Ollama with one loaded model of its own, or one that is dead. */
function ollama(models: string[], isDead = false): CatalogBackend {
  const [first = ''] = models;
  const orDown = async <Value>(value: Value): Promise<Value> => {
    if (isDead) throw down;
    return value;
  };
  return {
    ...backendOf(new ScriptedModel(), models),
    describe: (name) => orDown({ name, from: first }),
    loaded: () => orDown([{ name: first, entry: { name: first } }]),
    embed: ({ texts }) => orDown({ vectors: texts.map(() => [models.length]), promptTokens: 1 }),
  };
}

function routed(first: CatalogBackend, ...others: CatalogBackend[]): CatalogBackend {
  const pool = new AddressPool({ name: 'pool', addresses: others.length + 1, elapsed: () => performance.now() });
  const urls = [first, ...others].map((_, index) => `http://${index}.test`);
  return createRoutedBackend([first, ...others], pool, urls);
}

it('describes a model where it is, and elsewhere when that address does not answer', async () => {
  const backend = routed(ollama(['a']), ollama(['b']));
  await backend.list(signal);
  expect(await backend.describe?.('b', signal)).toEqual({ name: 'b', from: 'b' });
  expect(await routed(ollama(['a'], true), ollama(['b'])).describe?.('a', signal)).toEqual({ name: 'a', from: 'b' });
  await expect(routed(ollama(['a'], true), ollama(['b'], true)).describe?.('a', signal)).rejects.toBe(down);
});

it('knows the models that are loaded at any address', async () => {
  const backend = routed(ollama(['a']), ollama(['gone'], true), ollama(['b']), ollama(['a']));
  expect((await backend.loaded?.(signal))?.map(({ name }) => name)).toEqual(['a', 'b']);
});

it('embeds at another address when one does not answer', async () => {
  const backend = routed(ollama(['a'], true), ollama(['a', 'b']));
  const embedded = await backend.embed?.({ model: 'a', texts: ['x'], ollama: {}, signal });
  expect(embedded).toEqual({ vectors: [[2]], promptTokens: 1 });
});

it('has no more than its addresses have', () => {
  const plain = routed(backendOf(new ScriptedModel()), backendOf(new ScriptedModel()));
  expect(plain).not.toHaveProperty('describe');
  expect(plain).not.toHaveProperty('loaded');
  expect(plain).not.toHaveProperty('embed');
});
