/**
 * `npm run screenshots [folder] [scene…]`: pictures of all pages of the console, wide and narrow, light and dark. `npm run screenshots person` takes none: it
 * plays somebody who adds a tool server at the pace of a person, and prints the time of each step.
 */
import { mkdirSync } from 'node:fs';
import { closeChromium, openPage } from '../../_support/chromium.ts';
import { freshGateway } from '../../_support/fresh-gateway.ts';
import { backendOf } from '../../_support/build-app.ts';
import { listSettings } from '../../../src/app/config/read-settings.ts';
import { fillGateway } from './fill-gateway.ts';
import { scenes } from './scenes.ts';
import type { Scene } from './scenes.ts';
import { madeUpModel } from './made-up-model.ts';
import { printSteps, timePerson } from './time-person.ts';

const [folder = 'node_modules/.cache/screenshots', ...names] = process.argv.slice(2);
const dayMs = 86_400_000;
const wide = { width: 1280, height: 800 };
const narrow = { width: 360, height: 740 };
const looks = [
  { look: 'wide-light', viewport: wide, colorScheme: 'light' },
  { look: 'wide-dark', viewport: wide, colorScheme: 'dark' },
  { look: 'narrow-light', viewport: narrow, colorScheme: 'light' },
  { look: 'narrow-dark', viewport: narrow, colorScheme: 'dark' },
] as const;

/** Each with a gateway of its own, so that no scene shows what another has left. */
async function take({ name, path, prepare, isFilled, environment = {}, hasMadeUpModel }: Scene): Promise<void> {
  let ago = 0;
  const adminKey = 'sk-tw-screenshots';
  const whole = { ...environment, ...(isFilled && { TOOLWHARF_ADMIN_KEY: adminKey }) };
  const parts = {
    now: () => Date.now() - ago,
    settings: listSettings(whole, undefined),
    ...(hasMadeUpModel === true && { backends: [backendOf(madeUpModel, ['gpt-oss:20b'])] }),
  };
  await using gateway = await freshGateway(whole, parts);
  const key = isFilled === true ? adminKey : (gateway.app.startKey ?? '');
  if (isFilled === true) await fillGateway({ url: gateway.url, key, setDaysAgo: (days) => (ago = days * dayMs) });
  const address = `${path}#key=${key}`;
  for (const { look, ...options } of looks) {
    await using it = await openPage(gateway.url, { path: address, ...options, reducedMotion: 'reduce' });
    await it.page.locator('main h1').first().waitFor();
    await prepare?.(it.page);
    await it.page.evaluate(() => document.fonts.ready);
    await it.page.screenshot({ path: `${folder}/${name}-${look}.png` });
    if (it.faults.length > 0) console.error(name, it.faults);
  }
}

if (folder === 'person') {
  printSteps('a function without arguments', await timePerson({ fn: 'get_current_utc' }));
  printSteps('a function with an argument', await timePerson({ fn: 'format_current_time', typed: ['timezone', 'Asia/Tokyo'] }));
} else {
  mkdirSync(folder, { recursive: true });
  for (const scene of scenes.filter(({ name }) => names.length === 0 || names.includes(name))) await take(scene);
  console.log(`pictures in ${folder}`);
}
await closeChromium();
