import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { readChunks } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { functionGateway } from '../functions/function-gateway.ts';
import { answerOf, gatewayOf, selects, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { documentWith, jsonResponse, neverAnswers } from '../../tools/scripted-send.ts';
import { bankGateway } from '../approvals/approval-fixture.ts';

/** How the HTTP client of Open WebUI introduces itself. */
const userAgent = 'Python/3.11 aiohttp/3.13.2';

const picture = (content: string): string => `data:image/png;base64,${Buffer.from(content.repeat(400)).toString('base64')}`;

const weather = serverOf('weather', documentWith('get_weather', 'get_time', 'draw'));
const answers = {
  'http://weather.test/get_weather': { sky: 'clear' },
  'http://weather.test/get_time': { time: 'noon' },
  'http://weather.test/draw': { title: 'A map', map: picture('a') },
};

/** A chat as Open WebUI sends it: the chunks of its stream. */
async function chat(gateway: Gateway, body: JsonObject = {}): Promise<JsonObject[]> {
  const payload = { model: 'model', messages: [{ role: 'user', content: 'What is it like outside?' }], stream: true, ...body };
  const headers = { host: '127.0.0.1:8080', 'user-agent': userAgent };
  const { body: stream } = await gateway.app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
  return readChunks(stream).filter((chunk) => typeof chunk !== 'string') as JsonObject[];
}

async function chatWith(options: GatewayOptions, body?: JsonObject): Promise<JsonObject[]> {
  await using gateway = await gatewayOf({ servers: [weather], answers, ...options });
  return await chat(gateway, body);
}

interface WireEvent {
  type: string;
  data: JsonObject;
}

function eventsIn(chunks: readonly JsonObject[], type: string): JsonObject[] {
  return chunks.flatMap(({ event }) =>
    event !== undefined && (event as unknown as WireEvent).type === type ? [(event as unknown as WireEvent).data] : [],
  );
}

/** The states of the line: its text, with a dot where nothing is going on any more; hidden ones in brackets. */
function linesIn(chunks: readonly JsonObject[]): string[] {
  return eventsIn(chunks, 'status').map(({ description, done, hidden }) => {
    const text = `${String(description)}${done === true ? ' .' : ''}`;
    return hidden === true ? `(${text})` : text;
  });
}

describe('Open WebUI shows a line while tools run', () => {
  it('that says which function is called, and that it has been', async () => {
    const chunks = await chatWith({ turns: [calls(['get_weather', {}]), says('Clear.')] });
    expect(linesIn(chunks)).toEqual(['Calling get_weather…', 'Called get_weather .']);
    const kinds = chunks.map((chunk) => JSON.stringify(chunk));
    const at = (words: string): number => kinds.findIndex((chunk) => chunk.includes(words));
    expect(at('Calling')).toBeLessThan(at('"source"'));
    expect(at('Called')).toBeLessThan(at('Clear.'));
    for (const chunk of chunks) expect(chunk).toMatchObject({ object: 'chat.completion.chunk', choices: [{ index: 0 }] });
  });

  it('that names all calls of a round at once, and what became of each', async () => {
    const failing = { ...answers, 'http://weather.test/get_time': async () => jsonResponse({ detail: 'no' }, 400) };
    const turn = calls(['get_weather', {}], ['get_time', {}], ['get_weather', { city: 'Oslo' }]);
    const chunks = await chatWith({ turns: [turn, says('Clear.')], answers: failing });
    expect(linesIn(chunks).at(0)).toBe('Calling get_weather (2 times) and get_time…');
    expect(linesIn(chunks).at(-1)).toBe('Called get_weather (2 times); failed: get_time .');
    expect(linesIn(chunks).length).toBeLessThan(5);
  });

  it('that begins anew with each round', async () => {
    const chunks = await chatWith({ turns: [calls(['get_weather', {}]), calls(['get_time', {}]), says('Clear.')] });
    expect(linesIn(chunks)).toEqual(['Calling get_weather…', 'Called get_weather .', 'Calling get_time…', 'Called get_time .']);
  });

  it('that says what a function reports, but not all of many reports', async () => {
    const slow = `
      import { defineTool } from 'toolwharf';
      export const report = defineTool({ name: 'report', description: 'x', parameters: { type: 'object' }, async execute(_args, { status, progress }) {
        await status('asks the station');
        for (let count = 1; count <= 300; count += 1) await progress(count, 300);
        return 'done';
      } });`;
    await using gateway = await functionGateway({ 'slow.js': slow }, { turns: [calls(['report', {}]), says('Done.')] });
    const lines = linesIn(await chat(gateway));
    expect(lines.slice(0, 3)).toEqual(['Calling report…', 'report: asks the station', 'report: 0 %']);
    expect(lines.at(-1)).toBe('Called report .');
    expect(lines.length).toBeLessThan(30);
  });

  it('that never has more changes than Open WebUI can store at leisure, and still ends', async () => {
    const turns = Array.from({ length: 100 }, () => calls(['get_weather', {}]));
    const chunks = await chatWith({ turns: [...turns, says('Clear.')] }, { params: { max_tool_rounds: 110 } });
    const lines = linesIn(chunks);
    expect(lines.length).toBeLessThanOrEqual(110);
    expect(lines.at(-1)).toMatch(/^(?:Called|Failed).* \.$/);
  });

  it('that says that a call waits for approval, and does not shimmer for ever', async () => {
    await using gateway = await bankGateway({
      environment: { APPROVAL_TIMEOUT_MS: '1' },
      turns: [calls(['look', {}], ['pay', { amount: 5 }])],
    });
    const lines = linesIn(await chat(gateway));
    expect(lines).toContain('Waiting for approval of pay');
    expect(lines.at(-1)).toBe('Waiting for approval of pay .');
  });

  it('that says what a preset does that is called as a tool, and what waits in it', async () => {
    const turns = [calls(['payer', { request: 'Pay 5.' }]), calls(['look', {}]), calls(['pay', { amount: 5 }])];
    await using gateway = await bankGateway({ environment: { APPROVAL_TIMEOUT_MS: '1' }, turns });
    const payload = { id: 'payer', base_model: 'model', tools: ['server:bank'] };
    const made = await gateway.app.server.inject({ method: 'POST', url: '/api/presets', headers: { host: '127.0.0.1:8080' }, payload });
    expect(made.statusCode).toBe(201);
    const lines = linesIn(await chat(gateway, { tool_ids: ['preset:payer'] }));
    expect(lines).toEqual([
      'Calling payer…',
      'payer: uses look',
      'payer: uses pay',
      'Waiting for approval of pay',
      'Waiting for approval of pay .',
    ]);
  });

  it('that ends with a run that fails or is cancelled', async () => {
    const failing = await chatWith({ turns: [calls(['get_weather', {}]), [new Error('The backend is gone')]] });
    expect(linesIn(failing)).toEqual(['Calling get_weather…', 'Called get_weather .']);
    expect(failing.at(-1)).toHaveProperty('error');

    const hanging = { ...answers, 'http://weather.test/get_weather': neverAnswers };
    await using gateway = await gatewayOf({ servers: [weather], answers: hanging, turns: [calls(['get_weather', {}])] });
    const stream = chat(gateway);
    await expect.poll(() => gateway.sent.length).toBe(1);
    const { data } = (await gateway.get('/api/runs')).json<{ data: { id: string }[] }>();
    await gateway.app.server.inject({ method: 'POST', url: `/api/runs/${data[0]?.id}/cancel`, headers: { host: '127.0.0.1:8080' } });
    const cancelled = await stream;
    expect(linesIn(cancelled).at(-1)).toMatch(/ \.$/);
    expect(cancelled.at(-1)).toHaveProperty('error');
  });

  it('that ends with calls of its own functions, which the gateway hands over', async () => {
    const own = [{ type: 'function', function: { name: 'search_notes', parameters: { type: 'object' } } }];
    const chunks = await chatWith({ turns: [calls(['get_weather', {}], ['search_notes', {}])] }, { tools: own });
    expect(linesIn(chunks)).toEqual(['Calling get_weather…', 'Called get_weather .']);
  });

  it('while tools are chosen by a prompt, gone again if none is needed', async () => {
    const chosen = await chatWith({ turns: [selects(['get_weather', {}]), says('Clear.')] }, { params: { function_calling: 'default' } });
    expect(linesIn(chosen)).toEqual(['Choosing tools…', 'Calling get_weather…', 'Called get_weather .']);
    const none = await chatWith({ turns: [selects(), says('Hello.')] }, { params: { function_calling: 'default' } });
    expect(linesIn(none)).toEqual(['Choosing tools…', '(Choosing tools… .)']);
    const own = [{ type: 'function', function: { name: 'search_notes', parameters: { type: 'object' } } }];
    const handed = await chatWith({ turns: [selects(['search_notes', {}])] }, { params: { function_calling: 'default' }, tools: own });
    expect(linesIn(handed)).toEqual(['Choosing tools…', '(Choosing tools… .)']);
  });

  it('but not in a chat without tools, nor does another client get it', async () => {
    expect(linesIn(await chatWith({ turns: [says('Hello.')] }))).toEqual([]);
    await using gateway = await gatewayOf({ servers: [weather], answers, turns: [calls(['draw', {}]), says('Here.')] });
    const seen = await gateway.ask();
    expect(seen.eventsOf('status')).toEqual([]);
    expect(seen.eventsOf('files')).toEqual([]);
    expect(seen.raw).not.toContain('"images"');
  });
});

describe('Open WebUI shows the images of a tool result', () => {
  it('that a tool server returned within JSON, while the model reads a note in their place [S4-34]', async () => {
    await using gateway = await gatewayOf({ servers: [weather], answers, turns: [calls(['draw', {}]), says('Here.')] });
    const chunks = await chat(gateway);
    expect(eventsIn(chunks, 'files')).toEqual([{ files: [{ type: 'image', url: picture('a') }] }]);
    expect(JSON.stringify(gateway.model.requests[1]?.messages)).not.toContain('base64');
    expect(JSON.stringify(gateway.model.requests[1]?.messages)).toContain('[file 1: image/png');
  });

  it('all of them: those of a later result are added, as images of the answer, because files would replace the first', async () => {
    let drawn = 0;
    const draw = async () => {
      drawn += 1;
      return jsonResponse({ maps: [picture(`${drawn}`), picture(`${drawn}+`)] });
    };
    const turns = [calls(['draw', {}]), calls(['draw', { city: 'Oslo' }]), says('Here.')];
    const chunks = await chatWith({ turns, answers: { 'http://weather.test/draw': draw } });
    expect(eventsIn(chunks, 'files')).toEqual([{ files: ['1', '1+'].map((content) => ({ type: 'image', url: picture(content) })) }]);
    const added = chunks.flatMap((chunk) => ((chunk['choices'] as { delta: JsonObject }[])[0]?.delta['images'] ?? []) as JsonObject[]);
    expect(added).toEqual(['2', '2+'].map((content) => ({ type: 'image_url', image_url: { url: picture(content) } })));
  });

  it('each of them once, also a small one that is the whole answer', async () => {
    const bytes = '\u0000small picture'.repeat(40);
    const draw = answerOf(bytes, { type: 'image/png' });
    const chunks = await chatWith({ turns: [calls(['draw', {}]), says('Here.')], answers: { 'http://weather.test/draw': draw } });
    const url = `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`;
    expect(eventsIn(chunks, 'files')).toEqual([{ files: [{ type: 'image', url }] }]);
  });
});
