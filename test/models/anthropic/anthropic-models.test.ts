import { afterEach, describe, expect, it } from 'vitest';
import { factsIn } from '../../../src/models/anthropic/anthropic-models.ts';
import { listAnthropicModels, ListedModels, type AnthropicConnection } from '../../../src/models/anthropic/anthropic.ts';
import { directSend } from '../../_support/direct-send.ts';
import { respond, startUpstream, type Script, type UpstreamServer } from '../../_support/upstream-server.ts';

const open: UpstreamServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function connect(script: Script): Promise<{ server: UpstreamServer; connection: AnthropicConnection }> {
  const server = await startUpstream(script);
  open.push(server);
  return { server, connection: { baseUrl: `${server.origin}/v1`, key: 'sk-ant-1', firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000 } };
}

const yes = { supported: true };
const no = { supported: false };
const model = {
  type: 'model',
  id: 'claude-opus-5',
  display_name: 'Claude Opus 5',
  created_at: '2026-07-01T00:00:00Z',
  max_input_tokens: 1_000_000,
  max_tokens: 128_000,
  lifecycle: 'active',
  capabilities: {
    image_input: yes,
    structured_outputs: yes,
    effort: { ...yes, low: yes, medium: yes, high: yes, xhigh: null, max: yes },
    thinking: { ...yes, types: { adaptive: yes, enabled: no, disabled: yes, between_tools: no } },
  },
};
const { signal } = new AbortController();

describe('the list of models', () => {
  it('is read page by page', async () => {
    const other = { type: 'model', id: 'claude-haiku', display_name: 'Haiku', created_at: '1970-01-01T00:00:00Z', capabilities: null };
    const pages = [
      { data: [model], has_more: true, first_id: model.id, last_id: model.id },
      { data: [other], has_more: false, first_id: other.id, last_id: other.id },
    ];
    const { server, connection } = await connect((_, count) => respond(200, pages[count]));
    const records = await listAnthropicModels(connection, directSend, signal);
    expect(server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /v1/models?limit=1000',
      'GET /v1/models?limit=1000&after_id=claude-opus-5',
    ]);
    expect(server.requests[0]?.headers).toMatchObject({ 'x-api-key': 'sk-ant-1', 'anthropic-version': '2023-06-01' });
    expect(records).toMatchObject([
      {
        id: 'claude-opus-5',
        owner: 'anthropic',
        isLocal: false,
        created: Date.parse('2026-07-01T00:00:00Z') / 1000,
        capabilities: ['completion', 'tools', 'vision', 'thinking'],
        details: { name: 'Claude Opus 5', context_length: 1_000_000, max_tokens: 128_000 },
      },
      { id: 'claude-haiku', created: 0, capabilities: undefined },
    ]);
  });

  it('says what a model can do', async () => {
    const { connection } = await connect(respond(200, { data: [model], has_more: false }));
    const models = new ListedModels(connection, directSend);
    expect(models.factsOf('claude-opus-5')).toBeUndefined();
    await models.list(signal);
    expect(models.factsOf('claude-opus-5')).toEqual({
      maxTokens: 128_000,
      thinking: { isAdaptive: true, hasBudget: false, canBeOff: true },
      efforts: new Set(['low', 'medium', 'high', 'max']),
      hasOutputFormat: true,
    });
  });

  it('may be that of an imitator, with odd entries', async () => {
    const data = [{ id: 'm', object: 'model', created: 1_700_000_000, owned_by: 'x' }, 'x', { id: '' }, { id: 'n', capabilities: [] }];
    const { connection } = await connect(respond(200, { object: 'list', data }));
    const records = await listAnthropicModels(connection, directSend, signal);
    expect(records.map(({ id, created, capabilities }) => [id, created, capabilities])).toEqual([
      ['m', 1_700_000_000, undefined],
      ['n', 0, undefined],
    ]);
    expect(records.map(factsIn)).toEqual([{}, {}]);
  });

  it('ends after ten pages, and is invalid without a list', async () => {
    const { server, connection } = await connect((_, count) =>
      count < 10 ? respond(200, { data: [], has_more: true, last_id: `m${count}` }) : respond(200, { models: [] }),
    );
    expect(await listAnthropicModels(connection, directSend, signal)).toEqual([]);
    expect(server.requests).toHaveLength(10);
    await expect(listAnthropicModels(connection, directSend, signal)).rejects.toMatchObject({ code: 'upstream_invalid_response' });
  });
});
