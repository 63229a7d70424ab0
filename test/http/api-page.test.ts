import { expect, test } from 'vitest';
import { renderApiPage } from '../../src/http/pages/api-page.ts';
import type { JsonObject } from '../../src/shared/json.ts';
import { testApp } from '../_support/build-app.ts';

test('the page of the API shows every operation and schema, and loads nothing', async () => {
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

test('it escapes what a document says, and gives an example for the terminal', () => {
  const operation = {
    tags: ['Odd'],
    operationId: 'odd',
    summary: 'Odd <b>',
    description: 'Takes `<i>`.',
    requestBody: {
      content: {
        'application/json': {
          schema: {
            anyOf: [
              {
                type: 'object',
                properties: { kind: { const: 'one' }, items: { type: 'array', items: { type: 'string' } } },
                required: ['kind'],
              },
              { type: 'object', properties: { kind: { const: 'two' } }, required: ['kind'] },
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
    paths: { '/odd/{id}': { post: operation } },
    components: { schemas: { Odd: { type: 'integer' } } },
  };
  const page = renderApiPage(document).document.replaceAll(/\s+/g, ' ');
  expect(page).toContain('Odd &lt;b&gt;. Takes <code>&lt;i&gt;</code>.');
  expect(page).toContain('<code>kind</code> <span class="type">&quot;one&quot; or &quot;two&quot;, required</span>');
  expect(page).toContain('<code>items</code> <span class="type">list of strings</span>');
  expect(page).toContain('curl &quot;$U/odd/ID&quot;');
  expect(page).toContain(String.raw`-d &#39;{&quot;kind&quot;:&quot;o&#39;\&#39;&#39;clock&quot;}&#39;`);
  expect(page).toContain('<a href="#schema-Odd">Odd</a>');
});
