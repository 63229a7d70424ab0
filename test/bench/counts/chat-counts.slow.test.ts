import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { countChats, countedChats } from './count-chats.ts';
import type { ChatCounts } from './count-chats.ts';

/**
 * What a chat cost when this was last written down, on the Node of `package-lock.json`. A change that costs more than a twentieth raises the figure here, and
 * its reason stands beside it; one that saves lowers it.
 */
const written: Record<string, { kilobytes: number; calls: number }> = {
  // 675 calls before: requests and answers count what they hold in memory, and may be parts of a trace.
  json: { kilobytes: 82, calls: 715 },
  'json-tools': { kilobytes: 99, calls: 995 },
  'stream-50': { kilobytes: 205, calls: 3_150 },
  'stream-tools-50': { kilobytes: 255, calls: 4_900 },
};
const tolerance = 1.05;

let counts: Map<string, ChatCounts>;
beforeAll(async () => {
  const chats = countedChats.filter(({ name }) => name in written);
  counts = await countChats(fileURLToPath(new URL('../../..', import.meta.url)), chats);
}, 300_000);

it.each(Object.entries(written))('%s costs no more than was written down', (name, { kilobytes, calls }) => {
  const counted = counts.get(name);
  expect(counted?.calls).toBeLessThan(calls * tolerance);
  expect((counted?.bytes ?? 0) / 1000).toBeLessThan(kilobytes * tolerance);
  // So that a count of nothing is no success.
  expect(counted?.calls).toBeGreaterThan(calls / 4);
  expect((counted?.bytes ?? 0) / 1000).toBeGreaterThan(kilobytes / 4);
});
