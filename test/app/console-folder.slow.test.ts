import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, expect, it, vi } from 'vitest';
import { createConsoleFolder } from '../../src/app/console-folder.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

it('the sources of the console are looked at once a second, however many ask for its files', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const findConsole = createConsoleFolder({ info: vi.fn(), warn: vi.fn(), error: vi.fn() });
  await findConsole();
  const looks = vi.spyOn(fs, 'readdirSync');
  syncBuiltinESMExports();
  for (let second = 0; second < 2; second += 1) {
    looks.mockClear();
    vi.advanceTimersByTime(1_000);
    const first = await findConsole();
    const inOneLook = looks.mock.calls.length;
    expect(inOneLook).toBeGreaterThan(5);
    for (let index = 0; index < 50; index += 1) expect(await findConsole()).toEqual(first);
    expect(looks).toHaveBeenCalledTimes(inOneLook);
  }
});
