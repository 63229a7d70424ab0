import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** An older one may still be in use, and parts of it are loaded when they are first needed. */
const keptFolders = 4;
/** What an interrupted run has left is removed after this time. */
const abandonedMs = 60 * 60 * 1000;

/**
 * Makes what belongs into the folder, and puts it there as a whole.
 * @param {() => string} folderOf the folder, whose name depends on the sources
 * @param {(folder: string) => Promise<unknown>} make
 * @throws Error when it cannot be made or written
 */
export async function keepMade(folderOf, make) {
  const folder = folderOf();
  const unfinished = `${folder}.${process.pid}.unfinished`;
  try {
    // Fails before the bundler is loaded where nothing can be written.
    mkdirSync(unfinished, { recursive: true });
    await make(unfinished);
    // Whatever has changed meanwhile may be in it by half.
    if (folderOf() !== folder) return;
    renameSync(unfinished, folder);
    removeOld(dirname(folder));
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function removeOld(kept) {
  const found = readdirSync(kept).map((name) => ({ path: `${kept}/${name}`, madeAt: statSync(`${kept}/${name}`).mtimeMs }));
  const [whole, others] = [found.filter(isWhole), found.filter((entry) => !isWhole(entry))];
  const old = whole.toSorted((one, other) => other.madeAt - one.madeAt).slice(keptFolders);
  const abandoned = others.filter(({ madeAt }) => madeAt < Date.now() - abandonedMs);
  for (const { path } of [...old, ...abandoned]) rmSync(path, { recursive: true, force: true });
}

function isWhole({ path }) {
  return !path.endsWith('.unfinished');
}
