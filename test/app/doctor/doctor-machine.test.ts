import { expect, it } from 'vitest';
import { examineOpenFiles, openFilesLimit } from '../../../src/app/doctor/examine-machine.ts';

it.each([
  {
    limit: 256,
    connections: 1_024,
    level: 'warning',
    text: /256 files may be open: enough for about 78 chats/,
    cure: /2148 or more \(ulimit -n/,
  },
  { limit: 1_024, connections: 1_024, level: 'warning', text: /about 462 chats/, cure: /UPSTREAM_MAX_CONNECTIONS to 462/ },
  { limit: 1_024, connections: 384, level: 'ok', text: /^1024 files may be open$/, cure: undefined },
  { limit: Infinity, connections: 65_535, level: 'ok', text: /without limit/, cure: undefined },
])('$limit open files with $connections connections to a backend: $level', ({ limit, connections, level, text, cure }) => {
  const [finding] = examineOpenFiles(limit, connections);
  expect(finding).toMatchObject({ level, text: expect.stringMatching(text) });
  expect(finding?.cure ?? '').toMatch(cure ?? /^$/);
});

it('nothing is said of open files where the system does not say', () => {
  expect(examineOpenFiles(undefined, 1_024)).toEqual([]);
});

it('the limit of open files of this process is known', () => {
  expect(openFilesLimit()).toBeGreaterThan(0);
});
