import { expect, it } from 'vitest';
import { renderApiPage } from '../../../src/http/pages/api-page.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { testApp } from '../../_support/build-app.ts';

it('the page of the API shows every operation and schema, and loads nothing', async () => {
  await using app = await testApp({ TOOLWHARF_ADMIN_KEY: 'sk-tw-fixed-administrator' }, { backends: [] });
  const { paths, components } = (await app.server.inject({ url: '/openapi.json' })).json<{
    paths: Record<string, Record<string, { operationId: string }>>;
    components: { schemas: JsonObject };
  }>();
  const { statusCode, headers, body } = await app.server.inject({ url: '/docs' });
  expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src ('sha256-[\w+/=]+' ?){2};/);
  expect(body).not.toMatch(/<script|<link|<img|https?:\/\/(?!127\.0\.0\.1)| on\w+=|undefined|\[object/);
  const ids = new Set([...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const operations = Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
  expect(operations.filter((id) => !ids.has(id))).toEqual([]);
  expect(Object.keys(components.schemas).filter((name) => !ids.has(`schema-${name}`))).toEqual([]);
  const targets = [...body.matchAll(/ href="#([^"]+)"/g)].map(([, target]) => target);
  expect(targets.length).toBeGreaterThan(operations.length);
  expect(targets.filter((target) => !ids.has(target))).toEqual([]);
});

it('it escapes what a document says, and gives an example for the terminal', () => {
  const entries = { type: 'array', items: { type: 'object', properties: { text: { type: 'string' } } } };
  const operation = {
    tags: ['Odd'],
    operationId: 'make_odd',
    summary: 'Odd <b>',
    description: 'Takes `<i>`.',
    requestBody: {
      content: {
        'application/json': {
          schema: {
            anyOf: [
              {
                type: 'object',
                properties: { items: { type: 'array', items: { type: 'string' } }, kind: { const: 'one' } },
                required: ['kind'],
              },
              {
                type: 'object',
                properties: { note: { anyOf: [entries, { type: 'null' }] }, kind: { const: 'two' } },
                required: ['kind'],
              },
              { type: 'object', properties: { note: entries, kind: { const: 'two' } }, required: ['kind'] },
            ],
          },
          example: { kind: "o'clock" },
        },
      },
    },
    responses: { 200: { description: 'Done', content: { 'application/json': { schema: { $ref: '#/components/schemas/Odd' } } } } },
  };
  const document = {
    openapi: '3.1.0',
    info: { version: '1', description: '' },
    tags: [{ name: 'Odd', description: '' }],
    paths: { '/odd/{id}': { post: operation, put: { ...operation, operationId: 'change_odd' } } },
    components: { schemas: { Odd: { type: 'integer' } } },
  };
  const page = renderApiPage(document).document.replaceAll(/\s+/g, ' ');
  expect(page).toContain('Odd &lt;b&gt;. Takes <code>&lt;i&gt;</code>.');
  expect(page).toContain('<code>kind</code> <span class="type">&quot;one&quot; or &quot;two&quot;, required</span>');
  expect(page).toContain('<code>items</code> <span class="type">list of strings</span>');
  expect(page).toContain('<code>note</code> <span class="type">list of objects or null</span>');
  expect(page.match(/<code>note\[\]\.text</g)).toHaveLength(2);
  // Once for each operation. What has to be sent stands first, and links of one name say which route they lead to.
  expect(page.indexOf('<code>kind<')).toBeLessThan(page.indexOf('<code>items<'));
  expect(page).toContain('<a href="#make_odd">POST /odd/{id}</a>');
  expect(page).toContain('curl &quot;$U/odd/ID&quot;');
  expect(page).toContain(String.raw`-d &#39;{&quot;kind&quot;:&quot;o&#39;\&#39;&#39;clock&quot;}&#39;`);
  expect(page).toContain('<a href="#schema-Odd">Odd</a>');
});
