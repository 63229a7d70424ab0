import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentOf, question, readSeen, selects } from '../gateway.ts';
import { scriptedSend } from '../../tools/scripted-send.ts';

const url = 'http://home.test';
const zone = { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] };
const names = [...Array.from({ length: 298 }, (_, index) => `album_${index}_rename`), 'lamp', 'dim_heater'];
const document = documentOf(Object.fromEntries(names.map((name) => [name, zone])));
const specs = names.map((name) => ({ name, description: `Does ${name}`, parameters: zone }));

/** The ways in which a request brings three hundred functions, of which the last two lie far behind the first 128. */
const servers: [string, JsonObject][] = [
  ['a document, in the gateway', { url, openapi: document, execution: 'gateway' }],
  ['a document, in the browser', { url, openapi: document, execution: 'browser' }],
  ['a fetched document, in the gateway', { url, execution: 'gateway' }],
  ['a fetched document, in the browser', { url, execution: 'browser' }],
  ['specs, in the browser', { url, specs, execution: 'browser' }],
];

/** A chat with such a server. `called`: the functions that ran, wherever. */
async function chat(server: JsonObject, mode: string, content: string, turns: ScriptStep[][]) {
  const model = new ScriptedModel(...turns);
  const results = Object.fromEntries(names.map((name) => [`${url}/${name}`, { done: name }]));
  const script = scriptedSend({ [`${url}/openapi.json`]: document, ...results });
  await using app = await testApp({}, { backends: [backendOf(model)], send: script.send });
  const address = await listen(app);
  const called: string[] = [];
  const browser = await connectFakeBrowser({
    url: address,
    onExecuteTool({ name }) {
      called.push(String(name));
      return { done: String(name) };
    },
  });
  const body = {
    model: 'model',
    messages: [{ role: 'user', content }],
    stream: true,
    stream_options: { include_events: true },
    session_id: browser.sessionId(),
    params: { function_calling: mode },
    tool_servers: [server],
  };
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const seen = readSeen(await (await fetch(`${address}/v1/chat/completions`, init)).text());
  await browser.close();
  called.push(...script.requests.flatMap(({ url: sent }) => (sent.endsWith('.json') ? [] : [sent.slice(url.length + 1)])));
  return { seen, called, asked: model.requests };
}

describe.each(servers)('three hundred functions of a request, as %s,', (_way, server) => {
  it('offer in native mode those that fit the question, and find_tools finds the others', async () => {
    const turns = [
      calls(['find_tools', { query: 'heater' }]),
      calls(['dim_heater', { zone: 'a' }]),
      calls(['lamp', { zone: 'b' }]),
      says('Done.'),
    ];
    const { seen, called, asked } = await chat(server, 'native', 'Switch the lamp on.', turns);
    const offered = asked.map(({ tools }) => tools.map((spec) => spec.name));
    expect(offered[0]).toEqual(expect.arrayContaining(['lamp', 'find_tools']));
    expect(offered[0]).not.toContain('dim_heater');
    expect(offered[1]).toContain('dim_heater');
    expect(called).toEqual(['dim_heater', 'lamp']);
    expect(seen.text).toBe('Done.');
    expect(seen.eventsOf('warning')).toMatchObject([
      { code: 'functions_left_out', message: expect.stringContaining('of 300 functions') as string },
    ]);
  });

  it('are found by the selection of a prompt-based mode', async () => {
    const turns = [selects(['lamp', {}]), selects(['lamp', { zone: 'a' }]), says('It is lit.')];
    const { seen, called } = await chat(server, 'default', 'Switch the lamp on.', turns);
    expect(called).toEqual(['lamp']);
    expect(seen.text).toBe('It is lit.');
  });

  it('are found by thought and action', async () => {
    const act = (name: string, input: JsonObject) => says(`Thought: I need it.\nAction: ${name}\nAction Input: ${JSON.stringify(input)}\n`);
    const turns = [act('find_tools', { query: 'heater' }), act('dim_heater', { zone: 'a' }), says('Final Answer: Done.')];
    const { seen, called } = await chat(server, 'react', question, turns);
    expect(called).toEqual(['dim_heater']);
    expect(seen.text).toBe('Done.');
  });
});
