import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { expect, it, onTestFinished } from 'vitest';
import { explainMcpFailure } from '../../../src/tools/mcp/explain-mcp-failure.ts';
import { testApp } from '../../_support/build-app.ts';
import { respond, startUpstream } from '../../_support/upstream-server.ts';

async function reportOn(url: string): Promise<string> {
  const app = await testApp({ TOOLWHARF_DEMO: 'true', OLLAMA_BASE_URLS: ';' });
  onTestFinished(() => app.close());
  const headers = { 'x-api-key': app.startKey ?? '' };
  const answer = await app.server.inject({ method: 'POST', url: '/api/tool-servers/verify', headers, payload: { url, type: 'mcp' } });
  const { ok, error } = answer.json<{ ok: boolean; error: string }>();
  expect(ok).toBe(false);
  return error;
}

const html = { 'content-type': 'text/html; charset=utf-8' };

it.each([
  ['a web page', respond(200, '<html></html>', html), 'it answered with a web page (text/html)'],
  ['some text', respond(200, 'hello'), 'it answered with text/plain'],
  ['nothing', respond(200, '', { 'content-type': '' }), 'it answered without a content type'],
  ['JSON of its own', respond(200, { hello: 1 }), 'it answered with JSON that is not an MCP message'],
  ['broken JSON', respond(200, '{"a', { 'content-type': 'application/json' }), 'it answered with JSON that cannot be read'],
  ['404', respond(404, { detail: 'Not Found' }), 'it answered with the HTTP status 404'],
  ['405', respond(405, 'no', html), 'it answered with the HTTP status 405'],
])('a server that is no MCP server is told by what it answers, and by what an MCP address is: %s', async (_, answer, said) => {
  const server = await startUpstream(() => answer);
  onTestFinished(() => server.close());
  expect(await reportOn(`${server.origin}/some/place`)).toBe(
    `Connecting to the MCP server failed: ${said}. The first request was a POST to the path of its address at ${server.origin}. ` +
      'Register the address of its MCP endpoint, such as https://mcp.example/mcp; older servers that speak only SSE have it at /sse. Set the type to openapi for a server with an OpenAPI document',
  );
});

it('a machine that does not answer is told as that', async () => {
  expect(await reportOn('http://127.0.0.1:9/mcp')).toBe(
    'Connecting to the MCP server failed: Nothing listens at http://127.0.0.1:9. Is it running, and is the port right?',
  );
});

it.each([401, 500])('a server that may well be one is told by its status alone: %i', async (status) => {
  const server = await startUpstream(() => respond(status, {}));
  onTestFinished(() => server.close());
  expect(await reportOn(`${server.origin}/mcp`)).toBe(`Connecting to the MCP server failed: it answered with the HTTP status ${status}`);
});

it('a server that stays silent is told by how long that was', () => {
  const late = new SdkError(SdkErrorCode.RequestTimeout, 'Version negotiation probe timed out after 5000ms', { timeout: 5_000 });
  expect(explainMcpFailure(late)).toEqual({ kind: 'timeout', message: 'it did not answer within 5 s' });
});
