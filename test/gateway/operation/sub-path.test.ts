import { expect, it, onTestFinished } from 'vitest';
import { startTimeServer } from '../../../src/demo/time-server.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import { startSubPathProxy, type SubPathProxy } from '../../_support/sub-path-proxy.ts';

/** A gateway whose calls need approval, behind a proxy that serves it at `/tools`. */
async function startBehindProxy(): Promise<SubPathProxy> {
  const proxy = await startSubPathProxy('/tools');
  const time = await startTimeServer({ host: '127.0.0.1', port: 0 });
  const connections = JSON.stringify([{ id: 'time', url: time.url, config: { needs_approval: true } }]);
  const environment = { OLLAMA_BASE_URLS: ';', TOOLWHARF_DEMO: 'true', PUBLIC_URL: proxy.url, TOOL_SERVER_CONNECTIONS: connections };
  const app = await testApp(environment);
  onTestFinished(async () => {
    await app.close();
    await time.close();
    await proxy[Symbol.asyncDispose]();
  });
  proxy.forwardTo(await listen(app));
  return proxy;
}

it('links to an approval page below the path of PUBLIC_URL, whose form works there', async () => {
  const proxy = await startBehindProxy();
  const body = JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'What time is it in Osaka?' }] });
  const headers = { 'content-type': 'application/json' };
  const asked = await fetch(`${proxy.url}/v1/chat/completions`, { method: 'POST', headers, body });
  const { approval } = (await asked.json()) as { approval: { url: string } };
  expect(approval.url).toMatch(`${proxy.url}/approvals/`);
  expect(await (await fetch(approval.url)).text()).toContain('<form method="post">');
  const decided = await fetch(approval.url, { method: 'POST', body: new URLSearchParams({ decision: 'reject' }) });
  expect(decided.status).toBe(200);
  expect(await decided.text()).toContain('ejected');
  expect(proxy.strays).toEqual([]);
});

it('serves websockets there', async () => {
  const proxy = await startBehindProxy();
  const socket = new WebSocket(`${proxy.url.replace('http', 'ws')}/ws`, ['toolwharf.v1']);
  const [frame] = await new Promise<string[]>((resolve, reject) => {
    socket.addEventListener('message', ({ data }) => resolve([String(data)]));
    socket.addEventListener('close', ({ code, reason }) => reject(new Error(`${code} ${reason}`)));
  });
  socket.close();
  expect(JSON.parse(frame ?? '')).toMatchObject({ type: 'session' });
});

it('names the path in its documents and redirects', async () => {
  const proxy = await startBehindProxy();
  const document = (await (await fetch(`${proxy.url}/api/tools/openapi.json`)).json()) as { servers: { url: string }[] };
  expect(document.servers[0]?.url).toMatch(proxy.url);
  const page = await (await fetch(`${proxy.url}/login`, { headers: { accept: 'text/html' } })).text();
  expect(page).toContain('href="/tools/"');
});
