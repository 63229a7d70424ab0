import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { call } from '../approvals/approval-fixture.ts';
import { answerOf, gatewayOf, serverOf } from '../gateway.ts';
import type { GatewayOptions } from '../gateway.ts';

const types = (...names: string[]): JsonObject => ({ content: Object.fromEntries(names.map((name) => [name, {}])) });
const answering = (responses: JsonObject): JsonObject => ({
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  paths: { '/order': { post: { operationId: 'order', responses } } },
  components: { responses: { Bad: types('application/problem+json') } },
});

async function invoked(
  document: JsonObject,
  answer: NonNullable<GatewayOptions['answers']>[string],
): Promise<[accept: unknown, result: string]> {
  await using gateway = await gatewayOf({ servers: [serverOf('shop', document)], answers: { 'http://shop.test/order': answer } });
  const { body } = await call(gateway, 'POST /api/tools/order/invoke', { payload: { arguments: {} } });
  return [gateway.sent[0]?.headers?.['accept'], body];
}

it.each<[string, JsonObject, string]>([
  ['an answer that is not described', { 200: { description: 'Done' } }, 'application/json, text/plain;q=0.5'],
  ['no answers', {}, 'application/json, text/plain;q=0.5'],
  ['JSON', { 200: types('application/json; charset=utf-8') }, 'application/json, text/plain;q=0.5'],
  ['a file', { 200: types('application/pdf') }, 'application/json, application/pdf;q=0.9, text/plain;q=0.5'],
  ['pictures of any kind', { 200: types('image/*') }, 'application/json, image/*;q=0.9, text/plain;q=0.5'],
  ['tables beside JSON', { 200: types('text/csv', 'application/json') }, 'application/json, text/csv;q=0.9, text/plain;q=0.5'],
  ['JSON of another name', { '2XX': types('application/hal+json') }, 'application/json, application/hal+json;q=0.9, text/plain;q=0.5'],
  [
    'errors of their own',
    { 200: types('text/csv'), 422: { $ref: '#/components/responses/Bad' }, 500: types('text/html') },
    'application/json, text/csv;q=0.9, application/problem+json;q=0.9, text/plain;q=0.5',
  ],
  ['a page beside JSON', { 200: types('text/html', 'application/json') }, 'application/json, text/plain;q=0.5'],
  ['a page', { 200: types('text/html') }, 'application/json, text/html;q=0.9, text/plain;q=0.5'],
  ['anything', { 200: types('*/*'), default: types('text/*') }, 'application/json, text/plain;q=0.5'],
  ['what no header can hold', { 200: types('a b', 'x/y,text/html', 'text', '\u20ac/x') }, 'application/json, text/plain;q=0.5'],
])('asks for JSON first, then for the types that the operation declares: %s', async (_, responses, accept) => {
  expect((await invoked(answering(responses), {}))[0]).toBe(accept);
});

it('asks for the types that a Swagger 2.0 document produces', async () => {
  const { paths } = answering({ 200: { description: 'Done' } });
  const document = { swagger: '2.0', info: { title: 'Shop', version: '1' }, produces: ['application/xml', 'application/json'], paths };
  expect((await invoked(document, {}))[0]).toBe('application/json, application/xml;q=0.9, text/plain;q=0.5');
});

/** How frameworks choose between an error as a page and one as JSON. */
const frameworks: Record<string, (accept: string) => boolean> = {
  'Spring Boot, whose error controller prefers its page wherever one is accepted': (accept) => /text\/(?:html|\*)/.test(accept),
  'Rails, which takes */* behind a comma for a browser': (accept) => /,\s*\*\/\*|\*\/\*\s*,/.test(accept),
  'Flask with the usual handler: a page unless only JSON is accepted': (accept) =>
    /text\/(?:html|\*)|xhtml|application\/\*|\*\/\*/.test(accept),
};

it.each(Object.entries(frameworks))('reads the words of an error of %s', async (_, prefersPage) => {
  const page = answerOf('<html><body><h1>Whitelabel Error Page</h1></body></html>', { status: 400, type: 'text/html' });
  const words = answerOf('{"message":"name must not be blank"}', { status: 400 });
  const [, result] = await invoked(answering({ 201: types('application/json') }), (request) => {
    const answer = prefersPage(request.headers?.['accept'] ?? '') ? page : words;
    return typeof answer === 'function' ? answer(request) : Promise.reject(new Error('no answer'));
  });
  expect(result).toContain('name must not be blank');
});
