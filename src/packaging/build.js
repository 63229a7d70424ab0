// Makes dist/: the bundle for the image and the published package, because Node strips no types below node_modules.
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { collectLicenses } from './collect-licenses.ts';
import { makeBundle } from './make-bundle.ts';

const root = new URL('../..', import.meta.url);
const at = (path) => fileURLToPath(new URL(path, root));

rmSync(at('dist'), { recursive: true, force: true });
const files = await makeBundle(at('dist'));
writeFileSync(at('dist/THIRD-PARTY-LICENSES.txt'), collectLicenses(files));
// The types of what operators' modules import.
execFileSync(process.execPath, [at('node_modules/typescript/bin/tsc'), '--project', at('src/tsconfig.json')], { stdio: 'inherit' });

// The package brings no Node of its own: it runs with the one that is installed. Of the packages only those are left that its types name.
const { name, version, description, keywords, license, type, engines, dependencies } = JSON.parse(readFileSync(at('package.json'), 'utf8'));
const published = {
  name,
  version,
  description,
  keywords,
  license,
  type,
  bin: { toolwharf: 'toolwharf.js' },
  exports: { '.': { types: './package-entry.d.ts', default: './package-entry.js' }, './package.json': './package.json' },
  engines,
  dependencies: { zod: dependencies.zod },
};
writeFileSync(at('dist/package.json'), `${JSON.stringify(published, null, 2)}\n`);
// README.md links to the pages of docs/ by relative paths.
for (const path of ['README.md', 'LICENSE', 'CHANGELOG.md', 'docs']) cpSync(at(path), at(`dist/${path}`), { recursive: true });
console.log(`dist/ holds ${name} ${version}`);
