import type { Page } from 'playwright-core';

/** A picture of the console: where it is, and what is done there first. */
export interface Scene {
  name: string;
  path: string;
  prepare?: (page: Page) => Promise<unknown>;
}

/** A page adds what is worth a look: full, empty, and in trouble. */
export const scenes: readonly Scene[] = [
  { name: 'welcome', path: '/' },
  {
    name: 'chat',
    path: '/',
    async prepare(page) {
      await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
      await page.locator('.chat-foot', { hasText: 'demo' }).waitFor();
    },
  },
  {
    name: 'chat-call',
    path: '/',
    async prepare(page) {
      await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
      await page.locator('.chat-foot', { hasText: 'demo' }).waitFor();
      await page.locator('.call summary').first().click();
    },
  },
];
