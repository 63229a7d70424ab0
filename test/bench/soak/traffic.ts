import { setTimeout as pause } from 'node:timers/promises';
import { Agent, fetch } from 'undici';
import type { Response } from 'undici';
import { adminKey } from '../gateway-process.ts';

type Body = Record<string, unknown>;
interface Ids {
  id: string;
}

/** A function that waits for approval. */
export const pizzaModule = `import { defineTool } from 'toolwharf';
export default defineTool({
  name: 'order_pizza',
  description: 'Orders a pizza for the user',
  parameters: { type: 'object', properties: { size: { type: 'string', enum: ['small', 'large'], default: 'small' } } },
  needsApproval: true,
  execute: ({ size }) => \`A \${size} pizza is on its way.\`,
});
`;

/** Requests of a client to one gateway. What they create they delete again, so that whatever grows is the gateway's. */
export class Client {
  readonly #url: string;
  readonly #agent = new Agent({ connections: 64, keepAliveTimeout: 4_000 });

  constructor(url: string) {
    this.#url = url;
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  async send(
    method: string,
    path: string,
    body?: object,
    { key = adminKey, headers = {} }: { key?: string; headers?: object } = {},
  ): Promise<Response> {
    const response = await fetch(this.#url + path, {
      method,
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (response.ok) return response;
    throw new Error(`${method} ${path}: status ${response.status}: ${(await response.text()).slice(0, 300)}`);
  }

  async json<Answer>(...request: Parameters<Client['send']>): Promise<Answer> {
    return (await (await this.send(...request)).json()) as Answer;
  }

  async text(...request: Parameters<Client['send']>): Promise<string> {
    return (await this.send(...request)).text();
  }
}

const chat = (model: string, content: string, more: Body = {}): Body => ({ model, messages: [{ role: 'user', content }], ...more });
/** What the mock backend answers. */
const plan = (chunks: number, gapMs = 0): string => JSON.stringify({ name: 'soak', chunks, gapMs });
const completions = '/v1/chat/completions';
const mcpHeaders = { accept: 'application/json, text/event-stream' };

export type Kind = (client: Client, index: number) => Promise<void>;

/** One of each, in turn. */
export const kinds: Record<string, Kind> = {
  async plain(client) {
    await client.json('POST', completions, chat('mock', plan(50), { tool_ids: [] }));
  },
  async stream(client) {
    expectText(await client.text('POST', completions, chat('mock', plan(50), { tool_ids: [], stream: true })), '[DONE]');
  },
  async offered(client) {
    await client.json('POST', completions, chat('mock', plan(20)));
  },
  async tools(client) {
    expectText(await client.text('POST', completions, chat('demo', 'What time is it in Tokyo?', { stream: true })), '[DONE]');
  },
  async prompted(client) {
    await client.json('POST', completions, chat('demo', 'What time is it in Rome?', { params: { function_calling: 'default' } }));
  },
  async stored(client, index) {
    const { id } = await client.json<Ids>(
      'POST',
      completions,
      chat('mock', plan(20), { store: true, tool_ids: [], metadata: { index: String(index) } }),
    );
    await client.json('GET', `${completions}?limit=5`);
    await client.json('DELETE', `${completions}/${id}`);
  },
  async responses(client) {
    const first = await client.json<Ids>('POST', '/v1/responses', { model: 'demo', input: 'What time is it in Oslo?', store: true });
    const second = await client.json<Ids>('POST', '/v1/responses', { model: 'demo', input: 'Thanks', previous_response_id: first.id });
    for (const { id } of [first, second]) await client.json('DELETE', `/v1/responses/${id}`);
  },
  async approval(client) {
    interface Waiting {
      approval?: { run_id: string; calls: { id: string; token: string }[] };
    }
    const { approval } = await client.json<Waiting>(
      'POST',
      completions,
      chat('demo', 'order a large pizza', { tool_ids: ['function:order_pizza'] }),
    );
    const [call] = approval?.calls ?? [];
    if (approval === undefined || call === undefined) throw new Error('nothing waits for approval');
    const decision = { decision: 'approve', token: call.token };
    expectText(await client.text('POST', `/api/runs/${approval.run_id}/approvals/${call.id}`, decision), 'on its way');
  },
  async messages(client) {
    await client.json('POST', '/v1/messages', chat('demo', 'What time is it in Lima?', { max_tokens: 500 }));
  },
  async ollama(client) {
    await client.text('POST', '/api/chat', chat('demo', 'What time is it in Cairo?'));
  },
  async mcp(client) {
    const ask = (method: string, id: number, params: object, headers: object): Promise<Response> =>
      client.send('POST', '/mcp', { jsonrpc: '2.0', id, method, params }, { headers: { ...mcpHeaders, ...headers } });
    const version = '2025-06-18';
    const clientInfo = { name: 'soak', version: '1' };
    const begun = await ask('initialize', 1, { protocolVersion: version, capabilities: {}, clientInfo }, {});
    await begun.text();
    const session = begun.headers.get('mcp-session-id');
    const headers = { 'mcp-protocol-version': version, ...(session !== null && { 'mcp-session-id': session }) };
    expectText(await (await ask('tools/list', 2, {}, headers)).text(), 'order_pizza');
    if (session !== null) await client.text('DELETE', '/mcp', undefined, { headers });
  },
  async invoke(client) {
    const { data } = await client.json<{ data: Ids[] }>('GET', '/api/tools');
    const clock = data.find(({ id }) => id.includes('get_current_utc'));
    await client.json('POST', `/api/tools/${clock?.id ?? ''}/invoke`, { arguments: {} });
  },
  async key(client, index) {
    const { id, key } = await client.json<Ids & { key: string }>('POST', '/api/keys', { name: `soak ${index}`, role: 'user' });
    await client.json('POST', completions, chat('mock', plan(5), { tool_ids: [] }), { key });
    await client.json('DELETE', `/api/keys/${id}`);
  },
  async preset(client, index) {
    const id = `soak-${index}`;
    await client.json('POST', '/api/presets', { id, base_model: 'mock', tools: [] });
    await client.json('POST', completions, chat(id, plan(5)));
    await client.json('DELETE', `/api/presets/${id}`);
  },
  async lists(client) {
    for (const path of ['/api/runs?limit=20', '/api/usage', '/api/tool-servers', '/v1/models', '/ready', '/metrics'])
      await client.text('GET', path);
  },
  async left(client) {
    const response = await client.send('POST', completions, chat('mock', plan(100, 20), { tool_ids: [], stream: true }));
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
  },
};

function expectText(text: string, wanted: string): void {
  if (!text.includes(wanted)) throw new Error(`"${wanted}" is not in ${text.slice(-300)}`);
}

interface Outcome {
  operations: number;
  /** The first of each kind, and how many there were. */
  faults: Map<string, { count: number; first: string }>;
}

/** Plays the kinds in turn, `perSecond` of them and no more than `most` at a time, until the signal. */
export async function playTraffic(
  client: Client,
  { perSecond, most, signal }: { perSecond: number; most: number; signal: AbortSignal },
): Promise<Outcome> {
  const outcome: Outcome = { operations: 0, faults: new Map() };
  const running = new Set<Promise<void>>();
  const names = Object.keys(kinds);
  const play = async (name: string, index: number): Promise<void> => {
    try {
      await kinds[name]?.(client, index);
      outcome.operations += 1;
    } catch (error) {
      const known = outcome.faults.get(name) ?? { count: 0, first: error instanceof Error ? error.message : String(error) };
      outcome.faults.set(name, { ...known, count: known.count + 1 });
    }
  };
  for (let index = 0; !signal.aborted; index += 1) {
    const played = play(names[index % names.length] ?? '', index);
    running.add(played);
    void played.then(() => running.delete(played));
    await pause(1_000 / perSecond);
    if (running.size >= most) await Promise.race(running);
  }
  await Promise.all(running);
  return outcome;
}
