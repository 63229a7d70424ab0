import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { neverAnswers } from '../../tools/scripted-send.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';

const nothing = { type: 'object', properties: {} };
const picture = `data:image/png;base64,${'A'.repeat(4_096)}`;

async function send(
  gateway: Gateway,
  url: string,
  { method = 'POST', ...payload }: JsonObject & { method?: 'POST' | 'PUT' | 'GET' | 'PATCH' },
) {
  const answer = await gateway.app.server.inject({ method, url, headers: { host: '127.0.0.1' }, ...(method !== 'GET' && { payload }) });
  return { status: answer.statusCode, body: answer.json<JsonObject>() };
}

describe('a result', () => {
  it('with files at any depth reaches the model with notes in their place, and the client with the files [S4-34]', async () => {
    const answers = { 'http://cam.test/look': { shots: [{ image: picture }, { image: picture }], sky: 'blue' } };
    const servers = [serverOf('cam', documentOf({ look: nothing }))];
    await using gateway = await gatewayOf({ servers, answers, turns: [calls(['look', {}]), says('The sky is blue.')] });
    const seen = await gateway.ask();
    const told = String(gateway.model.requests[1]?.messages.at(-1)?.content);
    expect(told).toContain('"sky": "blue"');
    expect(told).toContain('[file 2: image/png, 3 kB, not shown here]');
    expect(told).not.toContain('base64');
    const [result] = seen.eventsOf('tool.result');
    expect(result?.['files']).toEqual([
      { type: 'image/png', size_bytes: 3_072, url: picture },
      { type: 'image/png', size_bytes: 3_072, url: picture },
    ]);
  });
});

describe('the time limit of a call', () => {
  it('is that of the tool, else of the request, else of the preset, else of the setting [S0-21]', async () => {
    const cases: [{ own?: number; request?: number; preset?: number }, string][] = [
      [{ own: 20, request: 60_000, preset: 60_000 }, '0.02s'],
      [{ request: 30, preset: 60_000 }, '0.03s'],
      [{ preset: 40 }, '0.04s'],
      [{}, '0.05s'],
    ];
    for (const [{ own, request, preset }, words] of cases) {
      const servers = [serverOf('slow', documentOf({ wait: nothing }), own === undefined ? {} : { timeoutMs: own })];
      const answers = { 'http://slow.test/wait': neverAnswers };
      const turns = [calls(['wait', {}]), says('It took too long.')];
      await using gateway = await gatewayOf({ servers, answers, turns, environment: { TOOL_TIMEOUT_MS: '50' } });
      await send(gateway, '/api/presets', { id: 'patient', base_model: 'model', ...(preset !== undefined && { tool_timeout_ms: preset }) });
      const params = request === undefined ? {} : { params: { tool_timeout_ms: request } };
      const seen = await gateway.ask({ model: 'patient', ...params });
      expect(seen.eventsOf('tool.result')).toMatchObject([
        { error: { code: 'tool_timeout', message: `Tool 'wait' timed out after ${words}` } },
      ]);
    }
  });

  it('of zero is refused, wherever it stands [S0-21]', async () => {
    await using gateway = await gatewayOf({ servers: [] });
    expect(await gateway.ask({ params: { tool_timeout_ms: 0 } })).toMatchObject({
      status: 400,
      raw: expect.stringContaining('tool_timeout_ms'),
    });
    const inPreset = await send(gateway, '/api/presets', { id: 'x', base_model: 'model', tool_timeout_ms: 0 });
    const inServer = await send(gateway, '/api/tool-servers', { url: 'http://a.test', config: { timeout_ms: 0 } });
    expect([inPreset.status, inServer.status]).toEqual([400, 400]);
    await expect(gatewayOf({ servers: [], environment: { TOOL_TIMEOUT_MS: '0' } })).rejects.toThrow('TOOL_TIMEOUT_MS');
  });
});

describe('the report on a tool server', () => {
  it('names functions that give a model little to go by [S1-28]', async () => {
    const operation = (words: JsonObject): JsonObject => ({ get: { ...words, responses: { 200: { description: 'Done' } } } });
    const paths = {
      '/weather': operation({ operationId: 'weather', summary: 'The weather of today' }),
      '/x1': operation({ operationId: 'bare' }),
      '/x2': operation({ operationId: 'tagged', tags: ['Misc'] }),
    };
    await using gateway = await gatewayOf({ servers: [] });
    const spec = { openapi: '3.1.0', info: { title: 't', version: '1' }, paths };
    const { body } = await send(gateway, '/api/tool-servers/verify', { url: 'http://a.test', spec });
    expect(body['warnings']).toEqual([expect.stringMatching(/only their method and path: bare, tagged\. Add a description/)]);
  });
});

describe('the set of tool servers', () => {
  it('is replaced as a whole by PUT; POST adds a single one and PATCH changes it [S3-10]', async () => {
    await using gateway = await gatewayOf({ servers: [] });
    const spec = documentOf({ wait: nothing });
    const entry = (id: string): JsonObject => ({ id, url: `http://${id}.test`, spec });
    const idsNow = async (): Promise<unknown> => {
      const { body } = await send(gateway, '/api/tool-servers', { method: 'GET' });
      return (body['data'] as JsonObject[]).map(({ id }) => id);
    };
    await send(gateway, '/api/tool-servers', entry('a'));
    await send(gateway, '/api/tool-servers', entry('b'));
    expect(await idsNow()).toEqual(['a', 'b']);
    await send(gateway, '/api/tool-servers', { method: 'PUT', data: [entry('b'), entry('c')] });
    expect(await idsNow()).toEqual(['b', 'c']);
    const changed = await send(gateway, '/api/tool-servers/c', { method: 'PATCH', info: { name: 'Sea' } });
    expect(changed.body['info']).toMatchObject({ name: 'Sea' });
    expect(await idsNow()).toEqual(['b', 'c']);
  });
});
