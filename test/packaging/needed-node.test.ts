import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { carrierFor } from '../../src/needed-node.js';

it('npm brings a Node along on each platform, by the name that a message tells', () => {
  const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { optionalDependencies: Record<string, string> };
  const platforms = [
    ['darwin', 'arm64'],
    ['darwin', 'x64'],
    ['linux', 'arm64'],
    ['linux', 'x64'],
    ['win32', 'x64'],
  ] as const;
  expect(platforms.map(([platform, arch]) => carrierFor(platform, arch)).sort()).toEqual(Object.keys(optionalDependencies).sort());
});
