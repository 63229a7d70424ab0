import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ClientOptions, ElicitResult } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import type { Gateway } from '../gateway.ts';
import { call, pathsSent } from '../approvals/approval-fixture.ts';
import { connect, connectingGateway } from './connecting-fixture.ts';

const link = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{43}$/);

describe('a function that is called outside of a chat and lacks its caller’s credential', () => {
  it.each([
    ['POST /api/tools/mail/send/invoke', { arguments: { to: 'bob' } }, { result: { sent: true } }],
    ['POST /api/tools/send/call', { to: 'bob' }, { sent: true }],
  ])('answers %s with the link, and runs once its caller has connected [credentials]', async (route, payload, result) => {
    await using gateway = await connectingGateway([]);
    const refused = await call(gateway, route, { payload });
    expect([refused.statusCode, refused.json<JsonObject>()]).toEqual([
      409,
      {
        id: 'mail/send',
        tool: 'send',
        error: { code: 'credential_required', message: expect.any(String) },
        connect: { servers: [{ server: 'mail', name: 'Mail', url: link }] },
        duration_ms: expect.any(Number),
      },
    ]);
    await connect(gateway);
    const done = await call(gateway, route, { payload });
    expect([done.statusCode, done.json<JsonObject>()]).toMatchObject([200, result]);
    expect(pathsSent(gateway)).toEqual(['/send']);
  });
});

const eras = [
  ['2025', {}],
  ['2026', { versionNegotiation: { mode: 'auto' as const } }],
] as const;

interface Asked {
  mode?: string;
  message: string;
  url?: string;
}

async function mcpClient(
  gateway: Gateway,
  elicitation: NonNullable<ClientOptions['capabilities']>['elicitation'],
  { answer, ...options }: ClientOptions & { answer?: (asked: Asked) => Promise<ElicitResult> | ElicitResult } = {},
): Promise<{ client: Client; asked: Asked[] }> {
  const client = new Client(
    { name: 'tester', version: '1' },
    { ...options, capabilities: elicitation === undefined ? {} : { elicitation } },
  );
  const asked: Asked[] = [];
  if (elicitation !== undefined)
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params as Asked);
      return answer?.(params as Asked) ?? { action: 'accept' };
    });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${await listen(gateway.app)}/mcp`)));
  onTestFinished(() => client.close());
  return { client, asked };
}

const send = { name: 'send', arguments: { to: 'bob' } };

describe.each(eras)('an MCP client of %s', (_era, options) => {
  it('that shows links gets one, and its call runs when the user has connected', async () => {
    await using gateway = await connectingGateway([]);
    const answer = async (): Promise<ElicitResult> => {
      setTimeout(() => void connect(gateway), 50);
      return { action: 'accept' };
    };
    const { client, asked } = await mcpClient(gateway, { url: {} }, { ...options, answer });
    expect(await client.callTool(send)).toMatchObject({ structuredContent: { sent: true } });
    expect(asked).toEqual([expect.objectContaining({ mode: 'url', url: link, message: expect.stringContaining('Mail') })]);
    expect(pathsSent(gateway)).toEqual(['/send']);
  });

  it('whose user connects before the client answers runs the call once', async () => {
    await using gateway = await connectingGateway([]);
    const answer = async (): Promise<ElicitResult> => {
      await connect(gateway);
      await new Promise((resolve) => setTimeout(resolve, 50));
      return { action: 'accept' };
    };
    const { client } = await mcpClient(gateway, { url: {} }, { ...options, answer });
    expect(await client.callTool(send)).toMatchObject({ structuredContent: { sent: true } });
    expect(pathsSent(gateway)).toEqual(['/send']);
  });

  it('is asked to connect first, and then to approve', async () => {
    await using gateway = await connectingGateway([]);
    const answer = async ({ mode }: Asked): Promise<ElicitResult> => {
      if (mode !== 'url') return { action: 'accept', content: { decision: 'approve' } };
      await connect(gateway);
      return { action: 'accept' };
    };
    const { client, asked } = await mcpClient(gateway, { url: {}, form: {} }, { ...options, answer });
    expect(await client.callTool({ name: 'remove', arguments: { id: '1' } })).toMatchObject({ structuredContent: { removed: true } });
    expect(asked.map(({ mode = 'form' }) => mode)).toEqual(['url', 'form']);
  });

  it('whose user declines is told so', async () => {
    await using gateway = await connectingGateway([]);
    const { client } = await mcpClient(gateway, { url: {} }, { ...options, answer: () => ({ action: 'decline' }) });
    const { isError, content } = await client.callTool(send);
    expect([isError, JSON.stringify(content)]).toEqual([true, expect.stringContaining('does not want to connect')]);
    expect(JSON.stringify(content)).not.toContain('/connect/');
    expect(gateway.sent).toEqual([]);
  });

  it.each([
    ['shows no links', undefined],
    ['shows forms alone', { form: {} }],
  ])('that %s gets the link in an error', async (_what, elicitation) => {
    await using gateway = await connectingGateway([]);
    const { client, asked } = await mcpClient(gateway, elicitation, options);
    const { isError, content } = await client.callTool(send);
    expect(isError).toBe(true);
    expect(JSON.stringify(content)).toMatch(/credential_required: .*Connect to Mail: http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{43}/);
    expect(asked).toEqual([]);
    await connect(gateway);
    expect(await client.callTool(send)).toMatchObject({ structuredContent: { sent: true } });
  });
});
