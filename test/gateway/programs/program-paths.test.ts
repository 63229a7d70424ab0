import { createServer, request as requestByHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { examinePrograms } from '../../../src/app/doctor/examine-programs.ts';
import { documentsAtRoot } from '../../../src/http/authorization-server/addresses.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import { adminKey, allow, askFor, exchange, mcpStatus, programScene, redirectUri } from './program-fixture.ts';

/** A proxy that has the gateway below a path, and passes on these addresses at its root. */
async function proxyBefore(target: () => string, path: string, atRoot: Record<string, string>): Promise<string> {
  const proxy = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://proxy');
    const passed = atRoot[pathname] ?? (pathname.startsWith(`${path}/`) ? pathname.slice(path.length) : undefined);
    if (passed === undefined) return void response.writeHead(404).end();
    const { method = 'GET', headers } = request;
    // Another host than that of PUBLIC_URL, as many proxies send it.
    const sent = requestByHttp(`${target()}${passed}${search}`, { method, headers: { ...headers, host: 'inner.test' } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(sent);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

describe('a path in PUBLIC_URL', () => {
  it('is in every address, and the documents are where programs look for them', async () => {
    let inner = '';
    const path = '/tools/gateway';
    const atRoot: Record<string, string> = {};
    const outer = await proxyBefore(() => inner, path, atRoot);
    const publicUrl = `${outer}${path}`;
    for (const { path: from, target } of documentsAtRoot(publicUrl)) atRoot[from] = target;
    const gateway = await programScene({ environment: { PUBLIC_URL: publicUrl } });
    inner = gateway.url;
    const scene = {
      ...gateway,
      url: publicUrl,
      post: async (below: string, form: Record<string, string>) => {
        const answer = await fetch(`${publicUrl}${below}`, { method: 'POST', body: new URLSearchParams(form) });
        return { status: answer.status, headers: answer.headers, body: (await answer.json()) as never };
      },
    };

    const read = async (address: string): Promise<Record<string, unknown>> =>
      (await (await fetch(address)).json()) as Record<string, unknown>;
    const server = await read(`${outer}/.well-known/oauth-authorization-server${path}`);
    expect(server).toMatchObject({ issuer: publicUrl, token_endpoint: `${publicUrl}/oauth/token` });
    expect(await read(`${gateway.url}/.well-known/oauth-authorization-server${path}`)).toEqual(server);
    const resource = await read(`${outer}/.well-known/oauth-protected-resource${path}/mcp`);
    expect(resource).toMatchObject({ resource: `${publicUrl}/mcp`, authorization_servers: [publicUrl] });
    const { headers } = await fetch(`${publicUrl}/mcp`, { method: 'POST' });
    const address = /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '')?.[1] ?? '';
    expect(await read(address)).toEqual(resource);

    const { client_id: client } = await gateway.register();
    const browser = scriptedBrowser();
    browser.refuseTo(new URL(redirectUri).origin);
    const asked = askFor(publicUrl, client);
    const page = await browser.open(asked.url);
    expect(page.url).toContain(`${publicUrl}/oauth/consent/`);
    const back = await allow(browser, page, adminKey);
    expect(back.searchParams.get('iss')).toBe(publicUrl);
    const { status, body } = await exchange(scene, { client, code: back.searchParams.get('code') ?? '', verifier: asked.verifier });
    expect([status, await mcpStatus(gateway, String(body['access_token']))]).toEqual([200, 200]);
  });

  it('makes doctor print the lines for the proxy', () => {
    const cures = (publicUrl: string): string[] =>
      examinePrograms({ publicUrl, mcpOauthIssuer: undefined }).flatMap(({ cure }) => cure ?? []);
    expect(cures('https://ai.example.com/tw')).toEqual([
      expect.stringContaining('location = /.well-known/oauth-authorization-server/tw {'),
      expect.stringContaining('location = /.well-known/oauth-protected-resource/tw/mcp {'),
    ]);
    expect(cures('https://ai.example.com')).toEqual([]);
    expect(cures('http://127.0.0.1:8080')).toEqual([]);
    expect(cures('http://192.168.1.5:8080')).toEqual(['Set PUBLIC_URL to an https address.']);
  });
});
