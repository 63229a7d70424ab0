import { expect, it, onTestFinished } from 'vitest';
import { testApp } from '../../_support/build-app.ts';
import { respond, startUpstream } from '../../_support/upstream-server.ts';

const list = { object: 'list', data: [{ id: 'model', object: 'model' }] };

async function errorOf(status: number, error: object, url = '/v1/chat/completions'): Promise<unknown> {
  const backend = await startUpstream((request) => (request.method === 'GET' ? respond(200, list) : respond(status, { error })));
  onTestFinished(() => backend.close());
  const app = await testApp({ OPENAI_API_BASE_URLS: `${backend.origin}/v1`, OLLAMA_BASE_URLS: ';' });
  onTestFinished(() => app.close());
  const payload = { model: 'model', messages: [{ role: 'user', content: 'Hi' }], input: 'Hi' };
  return (await app.server.inject({ method: 'POST', url, headers: { host: 'localhost' }, payload })).json<{ error: unknown }>().error;
}

it.each([
  [429, { message: 'Rate limit reached for requests' }, 'upstream_rate_limited'],
  [500, { message: 'CUDA out of memory' }, 'upstream_error'],
  [503, { message: 'Loading model' }, 'upstream_error'],
])('says that the words of a %i are those of the backend', async (status, error, code) => {
  const message = `The model backend "openai" answered with HTTP ${status}: ${error.message}`;
  expect(await errorOf(status, error)).toMatchObject({ code, message });
  expect(await errorOf(status, error, '/v1/embeddings')).toMatchObject({ code, message });
});

it('passes on the words of a refusal as they are, because agents know them', async () => {
  expect(await errorOf(400, { message: 'prompt is too long' })).toMatchObject({ message: 'prompt is too long' });
});
