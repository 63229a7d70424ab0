// Makes dist/: JavaScript for the image and the published package, because Node strips no types below node_modules.
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const root = new URL('../..', import.meta.url);
const at = (path) => new URL(path, root);

rmSync(at('dist'), { recursive: true, force: true });
const compiler = at('node_modules/typescript/bin/tsc').pathname;
execFileSync(process.execPath, [compiler, '--project', at('src/tsconfig.json').pathname], { stdio: 'inherit' });
for (const file of ['toolwharf.js', 'use-newer-node.js', 'needed-node.js', 'client/toolwharf-client.js'])
  cpSync(at(`src/${file}`), at(`dist/${file}`));

// The package brings no Node of its own: it runs with the one that is installed.
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
  dependencies,
};
writeFileSync(at('dist/package.json'), `${JSON.stringify(published, null, 2)}\n`);
// README.md links to the pages of docs/ by relative paths.
for (const path of ['README.md', 'LICENSE', 'CHANGELOG.md', 'docs']) cpSync(at(path), at(`dist/${path}`), { recursive: true });
console.log(`dist/ holds ${name} ${version}`);
