/** `npm run screenshots [folder] [scene…]`: pictures of all pages of the console, wide and narrow, light and dark. */
import { mkdirSync } from 'node:fs';
import { closeChromium, openPage } from '../../_support/chromium.ts';
import { freshGateway } from '../../_support/fresh-gateway.ts';
import { scenes } from './scenes.ts';
import type { Scene } from './scenes.ts';

const [folder = 'node_modules/.cache/screenshots', ...names] = process.argv.slice(2);
const wide = { width: 1280, height: 800 };
const narrow = { width: 360, height: 740 };
const looks = [
  { look: 'wide-light', viewport: wide, colorScheme: 'light' },
  { look: 'wide-dark', viewport: wide, colorScheme: 'dark' },
  { look: 'narrow-light', viewport: narrow, colorScheme: 'light' },
  { look: 'narrow-dark', viewport: narrow, colorScheme: 'dark' },
] as const;

/** Each with a gateway of its own, so that no scene shows what another has left. */
async function take({ name, path, prepare }: Scene): Promise<void> {
  await using gateway = await freshGateway();
  const address = `${path}#key=${gateway.app.startKey ?? ''}`;
  for (const { look, ...options } of looks) {
    await using it = await openPage(gateway.url, { path: address, ...options, reducedMotion: 'reduce' });
    await it.page.locator('main h1').first().waitFor();
    await prepare?.(it.page);
    await it.page.evaluate(() => document.fonts.ready);
    await it.page.screenshot({ path: `${folder}/${name}-${look}.png` });
    if (it.faults.length > 0) console.error(name, it.faults);
  }
}

mkdirSync(folder, { recursive: true });
for (const scene of scenes.filter(({ name }) => names.length === 0 || names.includes(name))) await take(scene);
await closeChromium();
console.log(`pictures in ${folder}`);
