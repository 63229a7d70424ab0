// `npm pack` in the checkout makes a package of dist/: Node strips no types below node_modules, and the packages that carry Node itself
// stay behind. npm takes the manifest that lies in the folder, so it is exchanged before packing (`in`) and put back after it (`out`).
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);
const manifest = fileURLToPath(new URL('package.json', root));
const own = fileURLToPath(new URL('package.json.own', root));

/** Paths of the manifest in dist/, seen from the folder above it. */
const below = (value) => {
  if (typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, below(entry)]));
  return value === './package.json' ? value : `./dist/${value.replace(/^\.\//, '')}`;
};

// Also what an interrupted packing has left.
if (existsSync(own)) renameSync(own, manifest);
if (process.argv[2] === 'in') {
  // The documents that README.md links to lie beside it; those of dist/ are for the image.
  const built = JSON.parse(readFileSync(new URL('dist/package.json', root), 'utf8'));
  const packed = {
    ...built,
    bin: below(built.bin),
    exports: below(built.exports),
    files: ['dist', 'docs', '/CHANGELOG.md', '!dist/docs', '!dist/*.md'],
  };
  renameSync(manifest, own);
  writeFileSync(manifest, `${JSON.stringify(packed, null, 2)}\n`);
}
