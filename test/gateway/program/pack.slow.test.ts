import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

interface Packed {
  filename: string;
  files: { path: string }[];
}

it(
  'npm pack makes a package of dist, without the packages that carry Node, and leaves the checkout as it was',
  { timeout: 120_000 },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolwharf-pack-'));
    try {
      const copied = ['src', 'package.json', 'tsconfig.json', 'README.md', 'CHANGELOG.md', 'LICENSE', 'docs', '.gitignore'];
      for (const name of copied) cpSync(resolve(name), join(folder, name), { recursive: true });
      symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
      const before = readFileSync(join(folder, 'package.json'), 'utf8');
      const { status, stdout, stderr } = spawnSync('npm', ['pack', '--json', '--silent'], { cwd: folder, encoding: 'utf8' });
      expect(stderr).toBe('');
      expect(status).toBe(0);
      const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as Packed[];
      const paths = packed?.files.map(({ path }) => path) ?? [];
      expect(paths).toEqual(
        expect.arrayContaining([
          'dist/toolwharf.js',
          'dist/THIRD-PARTY-LICENSES.txt',
          'dist/cli/serve.js',
          'dist/cli/serve.js.map',
          'dist/package-entry.d.ts',
          'package.json',
          'README.md',
          'LICENSE',
          'CHANGELOG.md',
          'docs/configuration.md',
        ]),
      );
      expect(paths.filter((path) => /^src\/|^dist\/(?:docs\/|.*\.md$)/.test(path))).toEqual([]);
      const manifest = spawnSync('tar', ['-xOzf', packed?.filename ?? '', 'package/package.json'], {
        cwd: folder,
        encoding: 'utf8',
      }).stdout;
      expect(JSON.parse(manifest)).toMatchObject({ bin: { toolwharf: expect.stringMatching(/^(?:\.\/)?dist\/toolwharf\.js$/) } });
      expect(manifest).not.toMatch(/node-linux|prepack|devDependencies/);
      // All others are in the bundle; this one is in the types.
      expect(JSON.parse(manifest)).toMatchObject({ dependencies: { zod: expect.any(String) } });
      expect(Object.keys((JSON.parse(manifest) as { dependencies: object }).dependencies)).toEqual(['zod']);
      expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe(before);
      expect(existsSync(join(folder, 'package.json.own'))).toBe(false);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
