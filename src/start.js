// `npm start` of a checkout: runs the bundle of the sources, which starts in half the time and takes two thirds of the memory. Where there is none
// yet, or cannot be one, the sources run, and the next start has a bundle if one can be made. Plain JavaScript, as any Node has to read it.
import './use-newer-node.js';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { constants, setPriority } from 'node:os';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundleFolder } from './packaging/bundle-folder.js';

/** The first chats come first. */
const makeAfterMs = 2000;

const folder = bundleFolder();
if (existsSync(folder)) {
  // Lasts as long as the bundle, where the default, a folder for temporary files, may be emptied at any time.
  if (nodeModule.enableCompileCache) nodeModule.enableCompileCache(folder + '/compile-cache');
  await import(pathToFileURL(folder + '/toolwharf.js').href);
} else {
  await import('./toolwharf.js');
  if (existsSync(new URL('../node_modules/rolldown', import.meta.url))) setTimeout(makeBundle, makeAfterMs).unref();
}

/** In a process of its own, which nothing waits for: it takes two seconds of computing, and 300 MB. */
function makeBundle() {
  const program = fileURLToPath(new URL('./packaging/keep-bundle.js', import.meta.url));
  const child = spawn(process.execPath, [program], { stdio: 'ignore', env: { ...process.env, MIMALLOC_PURGE_DELAY: '0' } });
  child.once('error', () => undefined);
  child.unref();
  try {
    setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended already.
  }
}
