import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createOllama } from '../../../src/models/ollama/ollama.ts';
import type { Ollama } from '../../../src/models/ollama/ollama.ts';
import { createOutbound } from '../../../src/policy/outbound/outbound-request.ts';
import { startOllamaServer } from '../../_support/ollama-server.ts';
import type { OllamaServer } from '../../_support/ollama-server.ts';

let server: OllamaServer;
let door: ReturnType<typeof createOutbound>;
let ollama: Ollama;

beforeEach(async () => {
  server = await startOllamaServer([
    { name: 'llama3.2:latest', capabilities: ['completion', 'tools'], contextLength: 131_072 },
    { name: 'gemma:2b', capabilities: ['completion'] },
    { name: 'old:7b' },
  ]);
  door = createOutbound({ egress: { mode: 'public', allow: [] } });
  const connection = { baseUrl: server.url, firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000, maxContext: 32_768 };
  ollama = createOllama(connection, door.send);
});
afterEach(async () => {
  await door.close();
  await server.close();
});

const list = async (signal = AbortSignal.timeout(5_000)) => ollama.list(signal);
const capabilities = async () => Object.fromEntries((await list()).map((record) => [record.id, record.capabilities]));
const shows = () => server.requests.filter((request) => request.path === '/api/show').map((request) => request.body['model']);

describe('the models of an Ollama', () => {
  it('come with what they can do, their age and everything that was listed', async () => {
    const [first] = await list();
    expect(first).toMatchObject({
      id: 'llama3.2:latest',
      owner: 'ollama',
      isLocal: true,
      created: 1_755_684_556,
      capabilities: ['completion', 'tools'],
    });
    expect(first?.details).toMatchObject({ digest: 'sha256:llama3.2:latest', size: 2_019_393_189, context_length: 131_072 });
    expect(await capabilities()).toEqual({ 'llama3.2:latest': ['completion', 'tools'], 'gemma:2b': ['completion'], 'old:7b': undefined });
  });

  it('are asked about once for each digest', async () => {
    await list();
    await list();
    expect(shows()).toEqual(['llama3.2:latest', 'gemma:2b', 'old:7b']);
    server.models = [{ name: 'gemma:2b', digest: 'sha256:new', capabilities: ['completion', 'vision'] }];
    expect(await capabilities()).toEqual({ 'gemma:2b': ['completion', 'vision'] });
    expect(shows()).toHaveLength(4);
  });

  it('are listed without capabilities where those cannot be learned, and asked about again the next time', async () => {
    server.onShow = (response, model) => model === 'gemma:2b' && response.writeHead(500).end('oops') !== undefined;
    expect(await capabilities()).toMatchObject({ 'llama3.2:latest': ['completion', 'tools'], 'gemma:2b': undefined });
    server.onShow = () => false;
    expect(await capabilities()).toMatchObject({ 'gemma:2b': ['completion'] });
  });

  it('are asked about four at a time', async () => {
    server.models = Array.from({ length: 12 }, (_, index) => ({ name: `m${index}`, capabilities: ['completion'] }));
    let running = 0;
    let most = 0;
    server.onShow = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      return false;
    };
    expect(await list()).toHaveLength(12);
    expect(most).toBe(4);
  });

  it('may be none', async () => {
    server.models = [];
    expect(await list()).toEqual([]);
  });

  it('cannot be listed when nothing answers, or when the asker leaves', async () => {
    await expect(list(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    await server.close();
    await expect(list()).rejects.toMatchObject({ code: 'upstream_unreachable' });
    server = await startOllamaServer();
  });
});
