// Makes the bundle of a checkout and keeps it for the next `npm start`, which runs this aside. Says nothing: without a bundle the sources run.
import { bundleFolder } from './bundle-folder.js';
import { keepMade } from './keep-made.js';

try {
  await keepMade(bundleFolder, async (folder) => {
    const { makeBundle } = await import('./make-bundle.ts');
    await makeBundle(folder);
  });
} catch {
  // No bundler (`npm ci --omit=dev`), a folder that cannot be written, or another start was faster.
}
