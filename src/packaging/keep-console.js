// Makes the console of a checkout, which a gateway that runs from the sources starts when its first page is asked for.
import { existsSync } from 'node:fs';
import { consoleFolder } from './bundle-folder.js';
import { keepMade } from './keep-made.js';

try {
  await keepMade(consoleFolder, async (folder) => {
    const { makeConsole } = await import('./make-console.ts');
    await makeConsole(folder);
  });
} catch (error) {
  // Another gateway may have been faster.
  if (!existsSync(consoleFolder())) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
