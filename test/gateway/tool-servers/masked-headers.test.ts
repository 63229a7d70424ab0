import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { answerOf, documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { GatewayOptions } from '../gateway.ts';
import { httpPeer, toolOf } from '../../tools/mcp/scripted-peer.ts';

const headers = { 'x-internal': 'SECRETHEADER-0123456789', 'x-tenant': 'PUBLICTENANT-0123456789' };
const config = { public_headers: ['X-Tenant'] };
const document = documentOf({ echo: { type: 'object', properties: {} } });
const answers = { 'http://api.test/echo': answerOf(JSON.stringify(headers)) };
const peer = httpPeer([toolOf('echo')], () => ({ content: [{ type: 'text', text: JSON.stringify(headers) }] }));

/** What the client and the model get to see of a call whose server repeats what it was sent. */
async function shownBy(options: GatewayOptions, body: JsonObject = {}): Promise<string> {
  await using gateway = await gatewayOf({ ...options, turns: [calls(['echo', {}]), says('Done.')] });
  const { raw } = await gateway.ask(body);
  return `${raw}${JSON.stringify(gateway.model.requests)}`;
}

describe('a server that repeats the headers it was sent shows those alone that are public', () => {
  it.each<[what: string, options: GatewayOptions, body?: JsonObject]>([
    ['registered', { answers, servers: [serverOf('api', document, { headers, extra: { config } })] }],
    [
      'over MCP',
      { send: peer.send, servers: [{ ...serverOf('api', {}), type: 'mcp', url: 'http://peer.test/mcp', headers, extra: { config } }] },
    ],
    ['of a request', { answers, servers: [] }, { tool_servers: [{ url: 'http://api.test', openapi: document, headers, config }] }],
  ])('%s', async (_what, options, body) => {
    const shown = await shownBy({ ...options, environment: { TOOL_SERVER_ALLOW: 'http://api.test' } }, body);
    expect(shown).toContain('PUBLICTENANT');
    expect(shown).not.toContain('SECRETHEADER');
  });
});
