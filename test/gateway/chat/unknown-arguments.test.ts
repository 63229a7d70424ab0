import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { httpPeer, textResult, toolOf } from '../../tools/mcp/scripted-peer.ts';
import { askPlainly, bankGateway, call, decide, lastResults } from '../approvals/approval-fixture.ts';
import { functionGateway } from '../functions/function-gateway.ts';
import { gatewayOf, selects, serverOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';

const query = (name: string): JsonObject => ({ name, in: 'query', schema: { type: 'string' } });
const mail: JsonObject = {
  openapi: '3.1.0',
  info: { title: 'Mail', version: '1' },
  paths: {
    '/messages': {
      delete: { operationId: 'delete_messages', parameters: [query('before'), query('author')], responses: {} },
      get: { operationId: 'list_messages', parameters: [query('before'), query('pageSize')], responses: {} },
    },
    '/trash': { delete: { operationId: 'empty_trash', responses: {} } },
  },
};
const answers = { 'http://mail.test/messages': { ok: true }, 'http://mail.test/trash': { emptied: true } };

/** What a model, or a caller, reads of a call, and the arguments that are shown of it where it is shown. */
type Way = (name: string, args: JsonObject) => Promise<{ read: string; gateway: Gateway; shown?: unknown }>;

async function mailGateway(turns: ReturnType<typeof says>[]): Promise<Gateway> {
  const gateway = await gatewayOf({ turns, servers: [serverOf('mail', mail)], answers });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

const react = (name: string, args: JsonObject) => says(`Thought: I know.\nAction: ${name}\nAction Input: ${JSON.stringify(args)}`);

async function chat(gateway: Gateway, mode: string, stream: boolean): ReturnType<Way> {
  const seen = stream ? await gateway.ask({ params: { function_calling: mode } }) : undefined;
  if (seen === undefined) await askPlainly(gateway, { params: { function_calling: mode } });
  return { read: JSON.stringify(gateway.model.requests.slice(1)), gateway, shown: seen?.eventsOf('tool.call')[0]?.['args'] };
}

const ways: Record<string, Way> = {
  'native, as a stream': async (name, args) => chat(await mailGateway([calls([name, args]), says('Done.')]), 'native', true),
  native: async (name, args) => chat(await mailGateway([calls([name, args]), says('Done.')]), 'native', false),
  rescued: async (name, args) =>
    chat(await mailGateway([says(`<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`), says('Done.')]), 'native', true),
  default: async (name, args) => chat(await mailGateway([selects([name, args]), says('Done.'), says('Done.')]), 'default', true),
  simple: async (name, args) => chat(await mailGateway([selects([name, args]), says('Done.'), says('Done.')]), 'simple', true),
  react: async (name, args) => chat(await mailGateway([react(name, args), says('Final Answer: Done.')]), 'react', true),
  invoke: async (name, args) => {
    const gateway = await mailGateway([]);
    return { read: (await call(gateway, `POST /api/tools/${name}/invoke`, { payload: { arguments: args } })).body, gateway };
  },
  call: async (name, args) => {
    const gateway = await mailGateway([]);
    return { read: (await call(gateway, `POST /api/tools/${name}/call`, { payload: args })).body, gateway };
  },
  '/mcp': async (name, args) => {
    const gateway = await mailGateway([]);
    const client = new Client({ name: 'tester', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${await listen(gateway.app)}/mcp`)));
    onTestFinished(() => client.close());
    return { read: JSON.stringify(await client.callTool({ name, arguments: args })), gateway };
  },
};

const sent = ({ sent: requests }: Gateway): string[] => requests.map(({ method, url }) => `${method} ${url}`);

describe.each(Object.entries(ways))('an argument that the function does not know: %s', (_, way) => {
  it('is refused by a call that may change something, with the nearest and all known names', async () => {
    for (const args of [{ older_than: '2020' }, { author: 'a', older_than: '2020' }]) {
      const { gateway, read } = await way('delete_messages', args);
      expect(sent(gateway)).toEqual([]);
      expect(read).toContain('older_than: is not an argument of this function, the nearest is ');
      expect(read).toContain('known arguments: before, author');
    }
  });

  it('is ignored by a call that only reads, and the reader is told first', async () => {
    const { gateway, read, shown } = await way('list_messages', { before: '2020', older_than: '2019' });
    expect(sent(gateway)).toEqual(['GET http://mail.test/messages?before=2020']);
    expect(read).toMatch(/Ignored because unknown: older_than\. Known: before, pageSize\..*ok\b/s);
    expect([undefined, '{"before":"2020","older_than":"2019"}']).toContain(JSON.stringify(shown));
  });

  it('is left out where every known one is given, and the reader is told', async () => {
    const { gateway, read } = await way('delete_messages', { before: '2020', author: 'a', zz: 1 });
    expect(sent(gateway)).toEqual(['DELETE http://mail.test/messages?before=2020&author=a']);
    expect(read).toContain('Ignored because unknown: zz. Known: before, author.');
  });

  it('is left out where the function knows none', async () => {
    const { gateway, read } = await way('empty_trash', { folder: 'spam' });
    expect(sent(gateway)).toEqual(['DELETE http://mail.test/trash']);
    expect(read).toContain('Ignored because unknown: folder. It takes none.');
  });

  it('is the one that is only spelled in another way, and the reader is told', async () => {
    const { gateway, read } = await way('list_messages', { page_size: 5 });
    expect(sent(gateway)).toEqual(['GET http://mail.test/messages?pageSize=5']);
    expect(read).toContain("The argument 'page_size' was read as 'pageSize'.");
  });
});

it.each(['default', 'simple'])('mode %s asks once more for a call that was refused, and runs the corrected one', async (mode) => {
  const turns = [selects(['delete_messages', { older_than: '2020' }]), selects(['delete_messages', { before: '2020' }]), says('Done.')];
  const gateway = await mailGateway(turns);
  const seen = await gateway.ask({ params: { function_calling: mode } });
  expect(sent(gateway)).toEqual(['DELETE http://mail.test/messages?before=2020']);
  expect(seen.text).toBe('Done.');
});

it('a model reads its call back as it gave it', async () => {
  const args = { before: 2020, page_size: 5, older_than: '2019' };
  const gateway = await mailGateway([calls(['list_messages', args]), says('Done.')]);
  await gateway.ask();
  const made = gateway.model.requests[1]?.messages.find((message) => message.role === 'assistant');
  expect(made?.toolCalls.map((each) => JSON.parse(each.arguments))).toEqual([args]);
  expect(lastResults(gateway)).toEqual([
    expect.stringMatching(/^\[Ignored because unknown: older_than\. .* The argument 'page_size' was read as 'pageSize'\.\]\n\n\{/),
  ]);
});

it('arguments with an unknown name are no decision on a call, and can be corrected', async () => {
  await using gateway = await bankGateway({ turns: [calls(['refund', { amount: 5 }]), says('Done.')] });
  const asked = await askPlainly(gateway);
  const refused = await decide(gateway, asked, { arguments: { amuont: 3 } });
  expect([refused.statusCode, refused.body]).toEqual([
    400,
    expect.stringContaining("amuont: is not an argument of this function, the nearest is 'amount'"),
  ]);
  expect((await decide(gateway, asked, { arguments: { amount: 3 } })).statusCode).toBe(200);
  expect(gateway.sent.map(({ body }) => body)).toEqual(['{"amount":3}']);
});

describe('functions of every kind are held to the rule', () => {
  const inputSchema = {
    type: 'object' as const,
    properties: { filter: { type: 'object', properties: { before: { type: 'string' }, author: { type: 'string' } } } },
  };

  async function peerGateway() {
    const tools = [
      toolOf('purge', { inputSchema }),
      toolOf('look', { inputSchema, annotations: { readOnlyHint: true } }),
      toolOf('take', { inputSchema: { type: 'object' } }),
    ];
    const peer = httpPeer(tools, (name, args) => textResult(`${name} ${JSON.stringify(args)}`));
    const gateway = await gatewayOf({ servers: [serverOf('peer', {}, { type: 'mcp' })], send: peer.send });
    onTestFinished(() => gateway[Symbol.asyncDispose]());
    return {
      peer,
      gateway,
      invoke: (name: string, args: JsonObject) => call(gateway, `POST /api/tools/${name}/invoke`, { payload: { arguments: args } }),
    };
  }

  it('those of MCP servers, within objects too; one that declares nothing gets what is given', async () => {
    const { invoke } = await peerGateway();
    const args = { filter: { older_than: 1 } };
    expect((await invoke('purge', args)).json()).toMatchObject({
      error: { code: 'args_invalid', message: expect.stringContaining('filter.older_than: is not an argument of this function') },
    });
    expect((await invoke('look', args)).json()).toMatchObject({ result: 'look {"filter":{}}', warnings: [{ code: 'arguments_changed' }] });
    expect((await invoke('take', args)).json()).toMatchObject({ result: `take ${JSON.stringify(args)}` });
  });

  it('those of this process', async () => {
    const parameters = 'z.object({ before: z.string().optional(), size: z.number().default(5) })';
    const execute = 'async (args) => args';
    const files = {
      'purge.js': functionModule('purge', { parameters, execute }),
      'look.js': functionModule('look', { parameters, execute, more: 'readOnly: true' }),
    };
    await using gateway = await functionGateway(files);
    expect(await gateway.invoke('purge', { before: 'x', older_than: 1 })).toMatchObject({
      status: 400,
      body: { error: { code: 'args_invalid', message: expect.stringContaining('known arguments: before, size') } },
    });
    expect(await gateway.invoke('look', { Before: 'x', older_than: 1 })).toMatchObject({
      status: 200,
      body: { result: { before: 'x', size: 5 }, warnings: [{}, {}] },
    });
  });
});
