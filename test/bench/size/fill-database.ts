import { openStores } from '../../_support/memory-stores.ts';
import type { Stores } from '../../../src/storage/open-stores.ts';

/** How much of each an installation has. */
export interface Filling {
  keys: number;
  peopleToday: number;
  chats: number;
  presets: number;
}

/** Writes that wait at the same time: they share transactions. */
const together = 500;

/** Fills a database as the gateway would have filled it. */
export async function fillDatabase(file: string, secret: string, filling: Filling): Promise<void> {
  const stores = openStores({ file, secret });
  await inParts(filling.keys, (index) => storeKey(stores, index));
  await inParts(filling.chats, (index) => storeChat(stores, index));
  const day = new Date().toISOString().slice(0, 10);
  for (let start = 0; start < filling.peopleToday; start += together) {
    const ids = Array.from({ length: Math.min(together, filling.peopleToday - start) }, (_, offset) => `person-${start + offset}`);
    await stores.usage.add(
      ids.map((personId) => ({ ...usage, day, personId })),
      ids.map((id) => ({ keyId: 'key_0', id, name: `Person ${id}`, last: Date.now() })),
    );
  }
  const presets = Array.from({ length: filling.presets }, (_, index) => ({
    id: `preset-${index}`,
    base_model: 'mock',
    system: 'Be brief.',
    created: 0,
  }));
  await stores.registry.writeFact('presets', JSON.stringify(presets));
  await stores.registry.close();
}

const usage = { keyId: 'key_0', model: 'mock', tool: '', requests: 1, tokensIn: 10, tokensOut: 20, toolCalls: 0, failures: 0 };

async function inParts(count: number, write: (index: number) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < count; start += together)
    await Promise.all(Array.from({ length: Math.min(together, count - start) }, (_, offset) => write(start + offset)));
}

function storeKey({ registry }: Stores, index: number): Promise<void> {
  return registry.createKey({ id: `key_${index}`, name: `key ${index}`, role: 'user', hash: `hash ${index}`, createdAt: 0 });
}

function storeChat({ chats }: Stores, index: number): Promise<unknown> {
  const texts = { question: `What about number ${index}?`, answer: `Number ${index} is a number like many others.` };
  const completion = { id: `chatcmpl-${index}`, object: 'chat.completion', created: 0, model: 'mock', choices: [] };
  const messages = [{ role: 'user', content: texts.question }];
  const chat = {
    id: completion.id,
    callerId: `key_${index % 100}`,
    created: Date.now(),
    model: 'mock',
    metadata: {},
    messages,
    completion,
    texts,
  };
  return chats.save(chat);
}
