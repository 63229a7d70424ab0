import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, it } from 'vitest';
import { listen as listenAt } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { functionGateway } from '../functions/function-gateway.ts';
import { question, selects, textOfMessage } from '../gateway.ts';

const order = functionModule('order', {
  execute: "async (args, { say }) => { await say('One moment.'); await say('Paid.'); return 'order 5' }",
});
const files = { 'order.js': order };
const letMeSee = { type: 'text' as const, text: 'Let me see.' };

it('what a function says is streamed as text of the answer while it runs, and the model reads it as its own words [S3-7]', async () => {
  await using gateway = await functionGateway(files, { turns: [[letMeSee, ...calls(['order', {}])], says('Done.')] });
  const { text, raw } = await gateway.ask();
  expect(text).toBe('Let me see.\n\nOne moment.\n\nPaid.\n\nDone.');
  const positions = ['Let me see.', '"type":"tool.call"', 'One moment.', 'Paid.', '"type":"tool.result"', 'Done.'].map((part) =>
    raw.indexOf(part),
  );
  expect(positions).toEqual(positions.toSorted((left, right) => left - right));
  const [assistant, result] = (gateway.model.requests[1]?.messages ?? []).slice(-2);
  expect(assistant).toMatchObject({ role: 'assistant', content: 'Let me see.\n\nOne moment.\n\nPaid.' });
  expect(textOfMessage(result)).toBe('order 5');
});

it('what a function says is in an answer that is not streamed, and on the socket [S3-7]', async () => {
  await using gateway = await functionGateway(files, { turns: [calls(['order', {}]), says('Done.'), calls(['order', {}]), says('Done.')] });
  const { raw } = await gateway.ask({ stream: false, stream_options: null });
  expect(JSON.parse(raw)).toMatchObject({ choices: [{ message: { content: 'One moment.\n\nPaid.\n\nDone.' } }] });
  const browser = await connectFakeBrowser({ url: await listenAt(gateway.app) });
  browser.send({ type: 'message', data: { model: 'model', content: question } });
  const end = await browser.next('assistant_end');
  expect(
    browser
      .framesOf('assistant_chunk')
      .map((frame) => frame.data['content'])
      .join(''),
  ).toBe('One moment.\n\nPaid.\n\nDone.');
  expect(end.data).toMatchObject({ content: 'One moment.\n\nPaid.\n\nDone.' });
  browser.terminate();
});

const step = [
  { type: 'text' as const, text: 'Thought: order\nAction: order\nAction Input: {}' },
  { type: 'finish' as const, reason: 'stop' as const },
];

it.each([
  ['default', [selects(['order', {}]), says('Done.')]],
  ['react', [step, says('Thought: done\nFinal Answer: Done.')]],
])('in the mode %s, too, and the model reads beside the result what the user has been told [S3-7]', async (mode, turns) => {
  await using gateway = await functionGateway(files, { turns });
  const { text } = await gateway.ask({ params: { function_calling: mode } });
  expect(text).toBe('One moment.\n\nPaid.\n\nDone.');
  const last = gateway.model.requests[1]?.messages.at(-1);
  expect(last?.role).toBe('user');
  expect(textOfMessage(last)).toMatch(/The user has been told meanwhile: One moment\.\n\nPaid\.[^]*order 5/);
});

it('a function within a preset that is used as a tool speaks to the user, not to the preset that asked [S3-7]', async () => {
  const turns = [calls(['clerk', { request: 'Order!' }]), calls(['order', {}]), says('It is ordered.'), says('All done.')];
  await using gateway = await functionGateway(files, { turns });
  for (const payload of [
    { id: 'clerk', base_model: 'model', tools: ['function:order'] },
    { id: 'chief', base_model: 'model', tools: ['preset:clerk'] },
  ])
    await gateway.app.server.inject({ method: 'POST', url: '/api/presets', headers: { host: '127.0.0.1' }, payload });
  expect((await gateway.ask({ model: 'chief' })).text).toBe('One moment.\n\nPaid.\n\nAll done.');
  expect(textOfMessage(gateway.model.requests[3]?.messages.at(-1))).toBe('It is ordered.');
});

it('where the answer is no text, what a function says is shown as a status: with a demanded format, to MCP clients, and nowhere in invoke', async () => {
  await using gateway = await functionGateway(files, { turns: [calls(['order', {}]), says('{"done":true}')] });
  const seen = await gateway.ask({ response_format: { type: 'json_object' } });
  expect(seen.text).toBe('{"done":true}');
  expect(seen.eventsOf('tool.progress').map(({ status }) => status)).toEqual(['One moment.', 'Paid.']);
  expect((await gateway.invoke('order')).body['result']).toBe('order 5');
  const client = new Client({ name: 'tester', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${await listenAt(gateway.app)}/mcp`)));
  const heard: unknown[] = [];
  await client.callTool({ name: 'order', arguments: {} }, { onprogress: ({ message }) => void heard.push(message) });
  expect(heard).toEqual(['One moment.', 'Paid.']);
  await client.close();
});

it('what one call says is bounded, and the run tells where the bound was reached; anything but a text is an error', async () => {
  const execute = "async (args, { say }) => { for (let i = 0; i < 3; i += 1) await say('x'.repeat(40_000)); await say(5) }";
  await using gateway = await functionGateway({ 'f.js': functionModule('f', { execute }) }, { turns: [calls(['f', {}]), says('ok')] });
  const seen = await gateway.ask();
  expect(seen.text.length).toBe(40_000 + 4);
  expect(seen.eventsOf('limit.reached')).toMatchObject([{ limit: 'said_characters', value: 65_536 }]);
  expect(gateway.app.logLines.filter((line) => line.includes('say: pass a text'))).toHaveLength(1);
});

it('what was said before a hand-over stands apart from what follows it [S3-7]', async () => {
  const passing = {
    'a.js': functionModule('pass', { execute: "async (args, { say }) => { await say('One moment.'); return handoff('clerk') }" }),
    'b.js': functionModule('on', { execute: "() => handoff('chief')" }),
  };
  const turns = [[letMeSee, ...calls(['pass', {}])], calls(['on', {}]), says('Hello.')];
  await using gateway = await functionGateway(passing, { turns });
  for (const payload of [
    { id: 'clerk', base_model: 'model', tools: ['function:on'] },
    { id: 'chief', base_model: 'model', tools: [] },
  ])
    await gateway.app.server.inject({ method: 'POST', url: '/api/presets', headers: { host: '127.0.0.1' }, payload });
  expect((await gateway.ask()).text).toBe('Let me see.\n\nOne moment.\n\nHello.');
});
