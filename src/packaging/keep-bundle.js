// Makes the bundle of a checkout and keeps it for the next `npm start`, which runs this aside. Says nothing: without a bundle the sources run.
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { bundleFolder, bundles } from './bundle-folder.js';

/** An older bundle may still be running, and loads parts of it when they are first needed. */
const keptBundles = 4;
/** What an interrupted run has left is removed after this time. */
const abandonedMs = 60 * 60 * 1000;

const folder = bundleFolder();
const unfinished = `${folder}.${process.pid}.unfinished`;
try {
  // Fails before the bundler is loaded where nothing can be written.
  mkdirSync(unfinished, { recursive: true });
  const { makeBundle } = await import('./make-bundle.ts');
  await makeBundle(unfinished);
  // Whatever has changed meanwhile may be in it by half.
  if (bundleFolder() === folder) {
    renameSync(unfinished, folder);
    removeOld();
  }
} catch {
  // No bundler (`npm ci --omit=dev`), a folder that cannot be written, or another start was faster.
} finally {
  rmSync(unfinished, { recursive: true, force: true });
}

function removeOld() {
  const found = readdirSync(bundles).map((name) => ({ path: `${bundles}/${name}`, madeAt: statSync(`${bundles}/${name}`).mtimeMs }));
  const [whole, others] = [found.filter(isWhole), found.filter((entry) => !isWhole(entry))];
  const old = whole.toSorted((one, other) => other.madeAt - one.madeAt).slice(keptBundles);
  const abandoned = others.filter(({ madeAt }) => madeAt < Date.now() - abandonedMs);
  for (const { path } of [...old, ...abandoned]) rmSync(path, { recursive: true, force: true });
}

function isWhole({ path }) {
  return !path.endsWith('.unfinished');
}
