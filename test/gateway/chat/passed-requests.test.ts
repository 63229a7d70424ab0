import { createServer, request as requestByHttp } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { BackendConfig } from '../../../src/app/config/backends.ts';
import { limits } from '../../../src/core/limits.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { formParts } from '../../../src/http/body/read-form.ts';

interface Received {
  url: string;
  headers: IncomingMessage['headers'];
  /** Of a form: its fields and files in order. */
  form?: [name: string, value: string, fileName?: string, type?: string][];
  json?: JsonObject;
}

type Answer = (response: ServerResponse, received: Received) => unknown;

interface Backend {
  app: TestApp;
  url: string;
  client: OpenAI;
  received: Received[];
  /** Requests of which the backend has got the headers. */
  begun: () => number;
  /** How often a client of the backend has left before its answer was complete. */
  left: () => number;
}

const key = 'sk-tw-of-an-administrator-0123456789';

/** A gateway before a backend with the models `whisper` and `other`, whose names begin with `lab/` at the gateway. */
async function backend(answer: Answer, overrides: Partial<BackendConfig> = {}): Promise<Backend> {
  const received: Received[] = [];
  let begun = 0;
  let left = 0;
  const server = createServer((request, response) => {
    response.on('close', () => (left += response.writableFinished ? 0 : 1));
    void serve(request, response).catch(() => response.destroy());
  });
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/v1/models') {
      respond(response, { data: [{ id: 'whisper' }, { id: 'other' }] });
      return;
    }
    begun += 1;
    const { url = '', headers } = request;
    const type = headers['content-type'] ?? '';
    const body = await buffer(request);
    const entry: Received = { url, headers };
    if (type.startsWith('multipart/')) {
      const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
      entry.form = await Promise.all(
        Array.from(form, async ([name, value]) =>
          typeof value === 'string' ? [name, value] : [name, await value.text(), value.name, value.type],
        ),
      );
    } else entry.json = JSON.parse(body.toString()) as JsonObject;
    received.push(entry);
    await answer(response, entry);
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const lab: BackendConfig = {
    kind: 'openai',
    url,
    urls: [url],
    origin: 'file',
    key: 'backend-secret',
    prefix: 'lab',
    name: 'lab',
    headers: {},
    maxContext: 0,
    isExplicit: true,
  };
  const app = await testApp({ TOOLWHARF_ADMIN_KEY: key, TOOLWHARF_DEMO: 'true' }, { config: { backends: [{ ...lab, ...overrides }] } });
  onTestFinished(() => app.close());
  const gateway = await listen(app);
  const client = new OpenAI({ baseURL: `${gateway}/v1`, apiKey: key, maxRetries: 0 });
  return { app, url: gateway, client, received, begun: () => begun, left: () => left };
}

function respond(response: ServerResponse, body: JsonObject, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function userKey({ app }: Backend, fields: JsonObject): Promise<string> {
  const payload = { name: 'somebody', role: 'user', ...fields };
  const made = await app.server.inject({ method: 'POST', url: '/api/keys', headers: { authorization: `Bearer ${key}` }, payload });
  return made.json<{ key: string }>().key;
}

/** A form as text, with the boundary `x`; each part is what stands between two boundaries. */
function formOf(...parts: string[]): { body: string; type: string } {
  return { body: `${parts.map((part) => `--x\r\n${part}\r\n`).join('')}--x--\r\n`, type: 'multipart/form-data; boundary=x' };
}

/** The SDK reads files while it writes the fields behind them. */
function byName(form: NonNullable<Received['form']>): NonNullable<Received['form']> {
  return form.toSorted(([one], [other]) => (one < other ? -1 : 1));
}

const field = (name: string, value: string): string => `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}`;

async function post(
  { url }: Backend,
  { body, type, token = key }: { body: string; type: string; token?: string },
  path = '/v1/audio/transcriptions',
) {
  const answer = await fetch(url + path, { method: 'POST', headers: { 'content-type': type, authorization: `Bearer ${token}` }, body });
  const json = (await answer.json()) as { error?: { message: string; code: string; param: string }; text?: string };
  return { status: answer.status, ...json };
}

describe('the SDK of OpenAI', () => {
  it('gets speech as it is, byte for byte', async () => {
    const speech = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 256));
    const lab = await backend((response) => response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(speech));
    const answer = await lab.client.audio.speech.create({ model: 'lab/whisper', input: 'Good morning.', voice: 'alloy' });
    expect(answer.headers.get('content-type')).toBe('audio/mpeg');
    expect(Buffer.from(await answer.arrayBuffer()).equals(speech)).toBe(true);
    expect(lab.received).toMatchObject([
      {
        url: '/v1/audio/speech',
        headers: { authorization: 'Bearer backend-secret' },
        json: { model: 'whisper', input: 'Good morning.', voice: 'alloy' },
      },
    ]);
    expect(lab.app.logLines.map((line) => JSON.parse(line) as JsonObject)).toContainEqual(
      expect.objectContaining({ msg: 'request passed on', model: 'lab/whisper', status: 200, path: '/v1/audio/speech' }),
    );
  });

  it('has a recording written down, with the file before the model or after it', async () => {
    const recording = 'RIFF\r\n--not a boundary\r\n'.repeat(20_000);
    const lab = await backend((response) => respond(response, { text: 'Good morning.' }));
    const file = await toFile(Buffer.from(recording), 'größe "x".wav', { type: 'audio/wav' });
    const { text } = await lab.client.audio.transcriptions.create({ file, model: 'lab/whisper', timestamp_granularities: ['word'] });
    await lab.client.audio.translations.create({ model: 'lab/whisper', file });
    expect(text).toBe('Good morning.');
    const sent = ['file', recording, expect.stringMatching(/größe .*x.*\.wav/), 'audio/wav'];
    expect(lab.received.map(({ form = [] }) => byName(form))).toEqual([
      [sent, ['model', 'whisper'], ['timestamp_granularities[]', 'word']],
      [sent, ['model', 'whisper']],
    ]);
  });

  it('gets the events of a streamed transcription as they come', async () => {
    const { promise: isRead, resolve } = Promise.withResolvers<void>();
    const lab = await backend(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"type":"transcript.text.delta","delta":"Good "}\n\n');
      await isRead;
      response.end('data: {"type":"transcript.text.done","text":"Good morning."}\n\n');
    });
    const file = await toFile(Buffer.from('RIFF'), 'a.wav');
    const stream = await lab.client.audio.transcriptions.create({ file, model: 'lab/whisper', stream: true });
    const types: string[] = [];
    for await (const event of stream) {
      types.push(event.type);
      resolve();
    }
    expect(types).toEqual(['transcript.text.delta', 'transcript.text.done']);
  });

  it('makes and changes images', async () => {
    const lab = await backend((response) => respond(response, { created: 1, data: [{ b64_json: 'AAAA' }] }));
    const made = await lab.client.images.generate({ model: 'lab/whisper', prompt: 'A lighthouse' });
    const image = [
      await toFile(Buffer.from('one'), 'one.png', { type: 'image/png' }),
      await toFile(Buffer.from('two'), 'two.png', { type: 'image/png' }),
    ];
    const changed = await lab.client.images.edit({ image, prompt: 'At night', model: 'lab/whisper' });
    expect([made.data, changed.data]).toEqual([[{ b64_json: 'AAAA' }], [{ b64_json: 'AAAA' }]]);
    expect(lab.received[1]?.url).toBe('/v1/images/edits');
    expect(byName(lab.received[1]?.form ?? [])).toEqual([
      ['image[]', 'one', 'one.png', 'image/png'],
      ['image[]', 'two', 'two.png', 'image/png'],
      ['model', 'whisper'],
      ['prompt', 'At night'],
    ]);
  });

  it('asks for a moderation, for embeddings, and others for a ranking', async () => {
    const lab = await backend((response) => respond(response, { results: [], data: [] }));
    await lab.client.moderations.create({ model: 'lab/other', input: 'Good morning.' });
    await lab.client.embeddings.create({ model: 'lab/other', input: 'Good morning.', encoding_format: 'float' });
    await lab.client.post('/rerank', { body: { model: 'lab/other', query: 'Osaka?', documents: ['a'] } });
    expect(lab.received.map(({ url, json }) => [url, json?.['model']])).toEqual([
      ['/v1/moderations', 'other'],
      ['/v1/embeddings', 'other'],
      ['/v1/rerank', 'other'],
    ]);
  });

  it('gets the errors of a backend in the shape of OpenAI', async () => {
    const lab = await backend((response, { url }) =>
      url === '/v1/rerank' ? response.writeHead(404).end() : respond(response, { detail: 'The file of backend-secret is empty' }, 422),
    );
    const file = await toFile(Buffer.from('x'), 'a.wav');
    await expect(lab.client.audio.transcriptions.create({ file, model: 'lab/whisper' })).rejects.toMatchObject({
      status: 422,
      code: 'upstream_rejected',
      message: expect.stringContaining('The file of [secret] is empty') as string,
    });
    await expect(lab.client.post('/rerank', { body: { model: 'lab/other' } })).rejects.toMatchObject({
      status: 404,
      message: expect.stringContaining('choose a model of one that has') as string,
    });
  });
});

describe('a request whose model cannot be asked so', () => {
  it.each([
    ['of no backend', { model: 'nobody' }, 404, 'nobody'],
    ['of the demo', { model: 'demo' }, 400, 'has no /audio/speech'],
    ['that is a preset', { model: 'clerk' }, 400, 'preset'],
    ['without a name', {}, 400, 'must name a model'],
  ])('is refused with the cure: one %s', async (_name, body, status, words) => {
    const lab = await backend((response) => respond(response, {}));
    const preset = { id: 'clerk', base_model: 'lab/other' };
    await lab.app.server.inject({ method: 'POST', url: '/api/presets', headers: { authorization: `Bearer ${key}` }, payload: preset });
    const answer = await post(lab, { body: JSON.stringify(body), type: 'application/json' }, '/v1/audio/speech');
    expect([answer.status, answer.error?.param]).toEqual([status, 'model']);
    expect(answer.error?.message).toContain(words);
    expect(lab.received).toEqual([]);
  });

  it('is refused where an Ollama has it', async () => {
    const lab = await backend((response) => respond(response, {}), { kind: 'ollama', url: 'http://127.0.0.1:1' });
    const answer = await post(lab, { body: JSON.stringify({ model: 'lab/whisper' }), type: 'application/json' }, '/v1/audio/speech');
    expect([answer.status, answer.error?.param]).toEqual([404, 'model']);
  });
});

describe('a key with models of its own', () => {
  const file = 'Content-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF';

  it('keeps to them in forms', async () => {
    const lab = await backend((response) => respond(response, { text: 'x' }));
    const token = await userKey(lab, { models: ['lab/whisper'] });
    expect(await post(lab, { ...formOf(file, field('model', 'lab/whisper')), token })).toMatchObject({ status: 200, text: 'x' });
    for (const parts of [
      [file, field('model', 'lab/other')],
      [field('model', 'lab/whisper'), file, field('models[]', 'lab/other')],
      [field('extra_body[fallbacks][]', 'lab/other'), field('model', 'lab/whisper')],
    ])
      expect(await post(lab, { ...formOf(...parts), token })).toMatchObject({ status: 403, error: { code: 'forbidden' } });
    expect(lab.received).toHaveLength(1);
  });

  it('keeps to them where the name of a file is read in two ways', async () => {
    const lab = await backend((response) => respond(response, { text: 'x' }));
    const token = await userKey(lab, { models: ['lab/whisper'] });
    const twofold = String.raw`Content-Disposition: form-data; name="file"; filename="a\"; name=\"model"` + '\r\n\r\nother';
    await post(lab, { ...formOf(field('model', 'lab/whisper'), twofold), token });
    expect(lab.received[0]?.form?.map(([name, value, fileName]) => [name, value, fileName])).toEqual([
      ['model', 'whisper', undefined],
      ['file', 'other', 'a__; name=__model'],
    ]);
  });

  it('has its tokens counted, wherever its backend says them, and its failures', async () => {
    const usage = { prompt_tokens: 40, total_tokens: 40 };
    const vectors = { data: Array.from({ length: 1_000 }, () => ({ embedding: [0.125, 0.25] })) };
    const answers = [
      { ...vectors, usage },
      { usage, ...vectors },
    ];
    const lab = await backend((response) => {
      const next = answers.shift();
      return next === undefined ? response.writeHead(404).end() : respond(response, next);
    });
    const token = await userKey(lab, { limits: { tokens_per_day: 80 } });
    const embed = (model: string) =>
      post(lab, { body: JSON.stringify({ model, input: 'x' }), type: 'application/json', token }, '/v1/embeddings');
    expect((await embed('lab/whisper')).status).toBe(200);
    expect((await embed('nobody')).status).toBe(404);
    expect((await embed('lab/whisper')).status).toBe(200);
    expect((await embed('lab/whisper')).status).toBe(429);
    const { data } = (await (await fetch(`${lab.url}/api/usage?by=model`, { headers: { authorization: `Bearer ${token}` } })).json()) as {
      data: JsonObject[];
    };
    expect(data).toMatchObject([
      { model: null, requests: 1, failures: 1 },
      { model: 'lab/whisper', requests: 2, tokens_in: 80, failures: 0 },
    ]);
  });

  it('has its requests counted', async () => {
    const lab = await backend((response) => respond(response, { text: 'x' }));
    const token = await userKey(lab, { limits: { requests_per_minute: 1 } });
    const form = formOf(field('model', 'lab/whisper'), file);
    expect((await post(lab, { ...form, token })).status).toBe(200);
    expect((await post(lab, { ...form, token })).status).toBe(429);
  });
});

describe('a form', () => {
  const model = field('model', 'lab/whisper');

  it.each<[string, { body: string; type: string }, number, string]>([
    ['with two models', formOf(model, field('Model', 'lab/other')), 400, 'twice'],
    ['without a model', formOf(field('prompt', 'x')), 400, 'must name a model'],
    ['without a boundary', { ...formOf(model), type: 'multipart/form-data' }, 400, 'boundary'],
    ['that is cut off', { ...formOf(model), body: `--x\r\n${model}` }, 400, 'last boundary'],
    ['with a part that has no name', formOf('Content-Disposition: form-data\r\n\r\nx', model), 400, 'no name'],
    ['with a name that is read in two ways', formOf(field('mod\\el', 'x'), model), 400, 'no name'],
    ['with too many parts', formOf(...Array.from({ length: formParts + 1 }, (_, index) => field(`f${index}`, 'x'))), 400, '128 parts'],
    ['with a long head', formOf(`X-Long: ${'x'.repeat(10_000)}\r\n${model}`), 400, 'headers of more than'],
    ['that is too large', formOf(field('prompt', 'x'.repeat(limits.formBytes)), model), 413, 'BODY_LIMIT_BYTES'],
  ])('is refused: one %s', async (_name, form, status, words) => {
    const lab = await backend((response) => respond(response, {}));
    const { status: given, error } = await post(lab, form);
    expect([given, error?.message]).toEqual([status, expect.stringContaining(words)]);
    expect(lab.received).toEqual([]);
  });

  it('elsewhere is refused', async () => {
    const lab = await backend((response) => respond(response, {}));
    expect(await post(lab, formOf(model), '/v1/chat/completions')).toMatchObject({ status: 415 });
  });

  it('that names its model first goes on while it arrives', async () => {
    const lab = await backend((response) => respond(response, { text: 'x' }));
    const piece = 'x'.repeat(64 * 1024);
    const begun = `--x\r\n${model}\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${piece}`;
    const { hostname, port } = new URL(lab.url);
    const headers = { 'content-type': 'multipart/form-data; boundary=x', authorization: `Bearer ${key}` };
    const sending = requestByHttp({ hostname, port, path: '/v1/audio/transcriptions', method: 'POST', headers });
    const answered = new Promise<IncomingMessage>((resolve) => sending.once('response', resolve));
    sending.write(begun);
    await wait(50);
    sending.end('\r\n--x--\r\n');
    expect(JSON.parse((await buffer(await answered)).toString())).toEqual({ text: 'x' });
    expect(lab.received[0]?.form).toEqual([
      ['model', 'whisper'],
      ['file', piece, 'a', expect.any(String)],
    ]);
  });

  it('in pieces of any size is read alike', async () => {
    const lab = await backend((response) => respond(response, { text: 'x' }));
    const { body } = formOf(field('empty', ''), field('prompt', '\r\n--y--\r\n-'), model, field('last', '\r\n'));
    const { hostname, port } = new URL(lab.url);
    const headers = { 'content-type': 'multipart/form-data; boundary="x"', authorization: `Bearer ${key}` };
    const sending = requestByHttp({ hostname, port, path: '/v1/audio/transcriptions', method: 'POST', headers });
    sending.setNoDelay(true);
    const answered = new Promise<IncomingMessage>((resolve) => sending.once('response', resolve));
    for (const character of body) {
      sending.write(character);
      await wait(0);
    }
    sending.end();
    await buffer(await answered);
    expect(lab.received[0]?.form).toEqual([
      ['empty', ''],
      ['prompt', '\r\n--y--\r\n-'],
      ['model', 'whisper'],
      ['last', '\r\n'],
    ]);
  });
});

it('a client that leaves ends the request to the backend', async () => {
  const { promise: isAsked, resolve } = Promise.withResolvers<void>();
  const lab = await backend((response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' }).write('x');
    resolve();
  });
  const leaving = new AbortController();
  const speaking = lab.client.audio.speech.create({ model: 'lab/whisper', input: 'x', voice: 'alloy' }, { signal: leaving.signal });
  await isAsked;
  await speaking;
  leaving.abort();
  await expect.poll(lab.left).toBe(1);
});

it('a client that leaves while its form is passed on ends the request to the backend', async () => {
  const lab = await backend((response) => respond(response, { text: 'x' }));
  const { hostname, port } = new URL(lab.url);
  const headers = { 'content-type': 'multipart/form-data; boundary=x', authorization: `Bearer ${key}` };
  const sending = requestByHttp({ hostname, port, path: '/v1/audio/transcriptions', method: 'POST', headers });
  sending.on('error', () => undefined);
  sending.write(`--x\r\n${field('model', 'lab/whisper')}\r\n--x\r\n${field('prompt', 'x'.repeat(64 * 1024))}`);
  await expect.poll(lab.begun).toBe(1);
  sending.destroy();
  await expect.poll(lab.left).toBe(1);
  expect(lab.received).toEqual([]);
});

it('a backend that breaks off ends the client’s answer as well', async () => {
  const lab = await backend((response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': 10 }).write('x');
    setTimeout(() => response.destroy(), 20);
  });
  const answer = await lab.client.audio.speech.create({ model: 'lab/whisper', input: 'x', voice: 'alloy' });
  await expect(answer.arrayBuffer()).rejects.toThrow(/terminated|aborted|other side/);
});

it('a client that reads slowly slows the backend down', async () => {
  const total = 64 * 1024 * 1024;
  let written = 0;
  const lab = await backend(async (response) => {
    response.writeHead(200, { 'content-type': 'audio/wav' });
    const piece = Buffer.alloc(256 * 1024);
    for (; written < total && !response.destroyed; written += piece.length)
      if (!response.write(piece)) await new Promise<unknown>((resolve) => response.once('drain', resolve));
    response.end();
  });
  const answer = await lab.client.audio.speech.create({ model: 'lab/whisper', input: 'x', voice: 'alloy' });
  await wait(300);
  expect(written).toBeLessThan(total / 2);
  expect((await answer.arrayBuffer()).byteLength).toBe(total);
});
