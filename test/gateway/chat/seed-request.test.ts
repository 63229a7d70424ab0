import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTimeServer } from '../../../src/demo/time-server.ts';
import { listen, readChunks, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';

interface SeedRequest {
  model: string;
  session_id?: string;
  params: Record<string, unknown>;
  tool_servers: { url: string; openapi: object }[];
}
const seed = JSON.parse(readFileSync(new URL('../../_recordings/open-webui-chat-request.json', import.meta.url), 'utf8')) as SeedRequest;

let app: TestApp;
let url: string;
let time: Awaited<ReturnType<typeof startTimeServer>>;

beforeAll(async () => {
  time = await startTimeServer({ host: '127.0.0.1', port: 0 });
  app = await testApp({ TOOLWHARF_DEMO: 'true', OLLAMA_BASE_URLS: 'http://127.0.0.1:1' });
  url = await listen(app);
});
afterAll(async () => {
  await app.close();
  await time.close();
});

function seedRequest(changes: { sessionId?: string; mode?: string; stream?: boolean }): SeedRequest {
  const { session_id: _gone, ...rest } = structuredClone(seed);
  return {
    ...rest,
    model: 'demo',
    ...(changes.stream === undefined ? {} : { stream: changes.stream }),
    ...(changes.sessionId === undefined ? {} : { session_id: changes.sessionId }),
    params: changes.mode === undefined ? {} : { function_calling: changes.mode },
    tool_servers: seed.tool_servers.map((server) => ({ ...server, url: time.url })),
    stream_options: { include_events: true },
  } as SeedRequest;
}

async function post(body: object): Promise<string> {
  const response = await fetch(`${url}/api/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return response.text();
}

interface Seen {
  events: { type: string; data: Record<string, unknown> }[];
  sources: { source: { name: string }; document: string[] }[];
  text: string;
}
function read(stream: string): Seen {
  const chunks = readChunks(stream).filter((chunk) => typeof chunk !== 'string');
  return {
    events: chunks.flatMap((chunk) => (chunk['event'] === undefined ? [] : [chunk['event'] as Seen['events'][number]])),
    sources: chunks.flatMap((chunk) => (chunk['sources'] as Seen['sources'] | undefined) ?? []),
    text: chunks.map((chunk) => (chunk['choices'] as { delta: { content?: string } }[])[0]?.delta.content ?? '').join(''),
  };
}

it.each(['native', 'default', undefined])('without a session the gateway runs the call (mode %s)', async (mode) => {
  const seen = read(await post(seedRequest(mode === undefined ? {} : { mode })));
  expect(seen.events.find((event) => event.type === 'tool.call')?.data).toMatchObject({
    tool: 'format_current_time_format_time_post',
    args: { timezone: 'Asia/Tokyo' },
  });
  expect(seen.sources[0]?.source.name).toBe('TOOL:format_current_time_format_time_post');
  expect(seen.sources[0]?.document[0]).toContain('formatted_time');
  expect(seen.text).toContain('formatted_time');
  expect(seen.events.some((event) => event.type === 'selection')).toBe(mode === 'default');
});

it('without streaming the same run is one completion', async () => {
  const body = JSON.parse(await post(seedRequest({ stream: false }))) as {
    sources: Seen['sources'];
    choices: { message: { content: string } }[];
  };
  expect(body.sources[0]?.source.name).toBe('TOOL:format_current_time_format_time_post');
  expect(body.choices[0]?.message.content).toContain('Asia/Tokyo');
});

it.each(['native', 'default'])('with an open session the call goes to the browser as a finished request (mode %s)', async (mode) => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, ['toolwharf.v1']);
  const frames: Record<string, unknown>[] = [];
  const session = Promise.withResolvers<string>();
  socket.addEventListener('message', ({ data }) => {
    const frame = JSON.parse(String(data)) as { type: string; data: Record<string, unknown> };
    if (frame.type === 'session') session.resolve(String(frame.data['session_id']));
    if (frame.type !== 'execute:tool') return;
    frames.push(frame.data);
    socket.send(
      JSON.stringify({ type: 'execute:tool:result', data: { id: frame.data['id'], result: { formatted_time: 'from the browser' } } }),
    );
  });
  const sessionId = await session.promise;
  const seen = read(await post(seedRequest({ mode, sessionId })));
  expect(frames).toEqual([
    {
      id: expect.stringMatching(/^[\w-]{22,}$/),
      name: 'format_current_time_format_time_post',
      offered_name: 'format_current_time_format_time_post',
      params: { timezone: 'Asia/Tokyo' },
      server: { url: time.url, info: { title: 'Secure Time Utilities API', description: expect.any(String), version: '1.0.0' } },
      request: {
        method: 'POST',
        url: `${time.url}/format_time`,
        headers: expect.objectContaining({ 'content-type': 'application/json' }),
        body: '{"timezone":"Asia/Tokyo"}',
      },
      session_id: sessionId,
      timeout_ms: 60_000,
    },
  ]);
  expect(seen.sources[0]?.document[0]).toContain('from the browser');
  expect(seen.text).toContain('from the browser');
  socket.close();
});

it('with a session that is not there the model is told, and the answer goes on', async () => {
  const seen = read(await post(seedRequest({ sessionId: 'R-JB6cdCyrSZ-GRcAAJc' })));
  expect(seen.events.find((event) => event.type === 'tool.result')?.data['error']).toMatchObject({ code: 'client_unavailable' });
  expect(seen.sources).toEqual([]);
  expect(seen.text.length).toBeGreaterThan(10);
});
