import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

test('npm packs no sources, which would install and never start, and says what to pack', () => {
  const { status, stderr } = spawnSync('npm', ['pack', '--dry-run'], { encoding: 'utf8', timeout: 60_000 });
  expect(stderr).toContain('npm run build && npm pack ./dist');
  expect(status).toBe(1);
});
