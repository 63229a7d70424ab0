import { expect, it } from 'vitest';
import { testApp } from '../../_support/build-app.ts';

const headers = { authorization: 'Bearer sk-tw-administrator' };
const environment = { OLLAMA_BASE_URLS: ';', TOOLWHARF_ADMIN_KEY: 'sk-tw-administrator', TOOLWHARF_DEMO: 'false' };

interface Page {
  data: { id: string }[];
  next?: string | null;
}

const lists = {
  '/api/keys': (id: string) => ({ name: id, role: 'user' }),
  '/api/presets': (id: string) => ({ id, base_model: 'demo' }),
  '/api/tool-servers': (id: string) => ({ id, url: `http://${id}.test`, config: { enable: false } }),
};

it.each(Object.entries(lists))('pages %s, and gives all of it to those who ask for no page', async (url, bodyOf) => {
  await using app = await testApp(environment);
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    const created = await app.server.inject({ method: 'POST', url, headers, payload: bodyOf(id) });
    expect(created.statusCode).toBe(201);
  }
  const get = async (query: string): Promise<Page> => (await app.server.inject({ url: `${url}${query}`, headers })).json<Page>();
  const all = await get('');
  expect(all).not.toHaveProperty('next');
  expect(all.data.length).toBeGreaterThanOrEqual(5);

  const pages: Page[] = [];
  let after = '';
  do {
    const page = await get(`?limit=2${after}`);
    pages.push(page);
    after = page.next == null ? '' : `&after=${encodeURIComponent(page.next)}`;
  } while (after !== '');
  expect(pages.flatMap(({ data }) => data.map(({ id }) => id))).toEqual(all.data.map(({ id }) => id));
  expect(pages.every(({ data }) => data.length <= 2)).toBe(true);
  expect(pages).toHaveLength(Math.ceil(all.data.length / 2));

  for (const query of ['?limit=0', '?after=gone']) {
    expect((await app.server.inject({ url: `${url}${query}`, headers })).statusCode).toBe(400);
  }
});
