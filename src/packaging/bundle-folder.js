// Plain JavaScript that any Node can read: it is loaded before the version of Node is looked at.
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Which packages there are: npm writes the second one whenever it changes what is installed. */
const packages = ['package.json', 'package-lock.json', 'node_modules/.package-lock.json'];

/** Where what is made of this checkout is kept; `npm ci` clears it. */
const cache = root + 'node_modules/.cache/';

/** The folder of the bundle of these very sources, packages and Node, whether it is there or not. */
export function bundleFolder() {
  return cache + 'toolwharf/' + digestOf(['src']);
}

/** The folder of the console alone, for a gateway that runs from the sources. */
export function consoleFolder() {
  return cache + 'toolwharf-console/' + digestOf(['src/client', 'src/console', 'src/packaging']);
}

/**
 * Files are told apart by their size and the times of their last change, of which no tool can set back the second: looking at all of them takes
 * 5 ms, reading them would take ten times that.
 */
function digestOf(folders) {
  const hash = createHash('sha256').update(process.version + '\n' + root + '\n');
  for (const path of [...packages, ...folders.flatMap(filesBelow)]) {
    const { size = '', mtimeMs = '', ctimeMs = '' } = statSync(root + path, { throwIfNoEntry: false }) || {};
    hash.update(path + ' ' + size + ' ' + mtimeMs + ' ' + ctimeMs + '\n');
  }
  return hash.digest('hex').slice(0, 32);
}

function filesBelow(folder) {
  return readdirSync(root + folder, { withFileTypes: true }).flatMap((entry) => {
    const path = folder + '/' + entry.name;
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}
