import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf } from '../../_support/build-app.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentWith, jsonResponse } from '../../tools/scripted-send.ts';
import { answerOf, documentOf, gatewayOf, question, selects, serverOf, textOfMessage } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { waitFor } from '../../_support/wait-for.ts';

const clocks = serverOf('time', documentWith('now', 'later'));
const clockAnswers = { 'http://time.test/now': { time: '12:00' }, 'http://time.test/later': { time: '13:00' } };
const byPrompt = { params: { function_calling: 'default' } };
const nothing = says('{"tool_calls": []}');
const lastContent = (messages: readonly ChatMessage[] | undefined) => messages?.at(-1)?.content;

/** A gateway with the clocks whose model gives these answers. */
function clockGateway(turns: ScriptStep[][], options: GatewayOptions = {}): Promise<Gateway> {
  return gatewayOf({ turns, servers: [clocks], answers: clockAnswers, ...options });
}

describe('the question', () => {
  async function whoIsAsked(environment: NodeJS.ProcessEnv, chatModel: string): Promise<string[]> {
    const model = new ScriptedModel(nothing, says('Noon.'));
    const local = backendOf(model, ['chat', 'small'], { isLocal: true });
    const external = { ...backendOf(model, ['gpt', 'mini']), name: 'external' };
    await using gateway = await clockGateway([], { environment, backends: [local, external] });
    expect((await gateway.ask({ ...byPrompt, model: chatModel })).text).toBe('Noon.');
    return model.requests.map((request) => request.model);
  }

  it('goes to TASK_MODEL for a local model, to TASK_MODEL_EXTERNAL for another, and to the chat model without them [S4-22]', async () => {
    const environment = { TASK_MODEL: 'small', TASK_MODEL_EXTERNAL: 'mini' };
    expect(await whoIsAsked(environment, 'chat')).toEqual(['small', 'chat']);
    expect(await whoIsAsked(environment, 'gpt')).toEqual(['mini', 'gpt']);
    expect(await whoIsAsked({ TASK_MODEL: 'small' }, 'gpt')).toEqual(['gpt', 'gpt']);
    expect(await whoIsAsked({ TASK_MODEL_EXTERNAL: 'mini' }, 'chat')).toEqual(['chat', 'chat']);
    expect(await whoIsAsked({}, 'chat')).toEqual(['chat', 'chat']);
  });

  it('has the template of the setting, with the functions as JSON in the place of {{TOOLS}} [S4-23]', async () => {
    const environment = { TOOLS_FUNCTION_CALLING_PROMPT_TEMPLATE: 'Choose from {{TOOLS}}, nothing else.' };
    await using gateway = await clockGateway([nothing, says('Noon.')], { environment });
    await gateway.ask(byPrompt);
    const system = gateway.model.requests[0]?.messages[0];
    expect(system).toMatchObject({ role: 'system', content: expect.stringMatching(/^Choose from \[.*\], nothing else\.$/) });
    expect(JSON.parse(textOfMessage(system).slice('Choose from '.length, -', nothing else.'.length))).toMatchObject([
      { name: 'now', description: 'Does now', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
      { name: 'later' },
    ]);
  });

  it('asks with the built-in template for one JSON object with a list of names and parameters, empty when none fits [S4-24]', async () => {
    await using gateway = await clockGateway([nothing, says('Noon.')]);
    await gateway.ask(byPrompt);
    const text = textOfMessage(gateway.model.requests[0]?.messages[0]);
    expect(text).toContain('Return only the JSON object, without any additional text');
    expect(text).toMatch(/If no tools match the query, return an empty array:\s*\{\s*"tool_calls": \[\]\s*\}/);
    expect(text).toContain('containing a "tool_calls" array with objects that include');
    expect(text).toMatch(
      /The format for the JSON response is strictly:\s*\{\s*"tool_calls": \[\s*\{"name": "toolName1", "parameters": \{"key1": "value1"\}\}/,
    );
    expect(text).toContain('"name":"now"');
  });

  it('shows at most three earlier messages, oldest first, and the query once, on the last line [S4-25]', async () => {
    const messages = [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
      { role: 'assistant', content: 'four' },
      { role: 'user', content: 'and now?' },
    ];
    await using gateway = await clockGateway([nothing, says('Noon.')]);
    await gateway.ask({ ...byPrompt, messages });
    expect(lastContent(gateway.model.requests[0]?.messages)).toBe(
      'Query: History:\nASSISTANT: """two"""\nUSER: """three"""\nASSISTANT: """four"""\nQuery: and now?',
    );
  });

  it('shows all functions in one form, whether their specs were flat, nested or converted [S4-5]', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const specs = [
      { type: 'function', name: 'flat', description: 'Flat', parameters },
      { type: 'function', function: { name: 'nested', description: 'Nested', parameters } },
      { name: 'bare', description: 'Bare', parameters },
    ];
    await using gateway = await clockGateway([nothing, says('Noon.')], {
      environment: { TOOLS_FUNCTION_CALLING_PROMPT_TEMPLATE: '{{TOOLS}}' },
    });
    await gateway.ask({ ...byPrompt, session_id: 's', tool_servers: [{ url: 'http://10.0.0.7:8000', specs }] });
    const shown = JSON.parse(textOfMessage(gateway.model.requests[0]?.messages[0])) as JsonObject[];
    expect(shown.slice(2)).toEqual([
      { type: 'function', name: 'flat', description: 'Flat', parameters },
      { type: 'function', name: 'nested', description: 'Nested', parameters },
      { type: 'function', name: 'bare', description: 'Bare', parameters },
    ]);
    for (const entry of shown) expect(Object.keys(entry)).toEqual(['type', 'name', 'description', 'parameters']);
  });

  it('is apart from the answer: unseen by the client, counted, and shown by an event [S4-26]', async () => {
    const usage = (count: number): ScriptStep => ({
      type: 'usage',
      usage: { prompt_tokens: count, completion_tokens: 1, total_tokens: count + 1 },
    });
    const turns = [
      [{ type: 'reasoning' as const, text: 'A clock, I think.' }, usage(100), ...selects(['now', {}])],
      [usage(20), ...says('Noon.')],
    ];
    await using gateway = await clockGateway(turns);
    const seen = await gateway.ask(byPrompt);
    expect([seen.text, seen.reasoning, seen.finish]).toEqual(['Noon.', '', ['stop']]);
    expect(seen.raw).not.toContain('tool_calls');
    expect(seen.raw).not.toContain('A clock');
    expect(seen.usage).toEqual({ prompt_tokens: 120, completion_tokens: 2, total_tokens: 122 });
    const asked = { query: question, functions: 2, questions: 1 };
    expect(seen.eventsOf('selection')).toEqual([{ model: 'model', asked, found: ['now'], dropped: [], repaired: [] }]);
  });

  it('is asked once for a request, whatever rounds it allows [S4-43]', async () => {
    await using gateway = await clockGateway([selects(['now', {}]), selects(['later', {}])]);
    const seen = await gateway.ask({ params: { function_calling: 'default', max_tool_rounds: 5 } });
    expect(gateway.model.requests).toHaveLength(2);
    expect(gateway.sent.map((request) => request.url)).toEqual(['http://time.test/now']);
    expect(seen.text, 'the second answer is the answer, whatever it looks like').toContain('later');
    expect(seen.eventsOf('selection')).toHaveLength(1);
  });
});

describe('an answer to it', () => {
  async function foundIn(text: string): Promise<unknown> {
    await using gateway = await clockGateway([says(text), says('Noon.')]);
    const seen = await gateway.ask(byPrompt);
    expect(seen.text).toBe('Noon.');
    return seen.eventsOf('tool.call').map((data) => [data['tool'], data['args']]);
  }
  const call = '{"name": "now", "parameters": {"city": "Osaka"}}';
  const list = `{"tool_calls": [${call}]}`;

  it('may come in pieces, and is complete before a function runs [S4-27]', async () => {
    const gate = Promise.withResolvers<void>();
    const pieces = [list.slice(0, 20), list.slice(20, -1), list.slice(-1)].map((text) => ({ type: 'text' as const, text }));
    const selection = [...pieces.slice(0, 2), gate.promise, ...pieces.slice(2), { type: 'finish' as const, reason: 'stop' as const }];
    await using gateway = await clockGateway([selection, says('Noon.')]);
    const asked = gateway.ask(byPrompt);
    await waitFor(() => expect(gateway.model.requests).toHaveLength(1));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(gateway.sent).toEqual([]);
    gate.resolve();
    expect((await asked).text).toBe('Noon.');
    expect(gateway.sent.map((request) => request.url)).toEqual(['http://time.test/now?city=Osaka']);
  });

  it('that selects nothing leaves the messages as they are [S4-28]', async () => {
    const messages = [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'Hello!' },
    ];
    await using gateway = await clockGateway([nothing, says('Hello.')]);
    const seen = await gateway.ask({ ...byPrompt, messages });
    expect(gateway.model.requests[1]?.messages).toEqual(messages);
    expect([seen.text, seen.eventsOf('tool.call')]).toEqual(['Hello.', []]);
    await using silent = await clockGateway([says(''), says('Hello.')]);
    await silent.ask({ ...byPrompt, messages });
    expect(silent.model.requests[1]?.messages).toEqual(messages);
  });

  it('is found between prose with braces, fences, thoughts and other objects [S4-29]', async () => {
    const wanted = [['now', { city: 'Osaka' }]];
    expect(await foundIn(`Sure {as you wish}: ${list} {done}`)).toEqual(wanted);
    expect(await foundIn(`\`\`\`json\n${list}\n\`\`\``)).toEqual(wanted);
    expect(await foundIn(`<think>{"tool_calls": [{"name": "later", "parameters": {}}]}</think>\n${list}`)).toEqual(wanted);
    expect(await foundIn(`{"note": "a { brace"} ${list}`)).toEqual(wanted);
    expect(await foundIn(`${list}\n{"tool_calls": [{"name": "later", "parameters": {}}]}`)).toEqual([...wanted, ['later', {}]]);
  });

  it('may be a list under tool_calls or one bare call [S4-30]', async () => {
    expect(await foundIn(list)).toEqual([['now', { city: 'Osaka' }]]);
    expect(await foundIn(call)).toEqual([['now', { city: 'Osaka' }]]);
  });

  it('with a shortened name finds its function; another unknown name is reported and not executed [S4-31]', async () => {
    const long = 'get_current_local_get_current_local_time_get';
    const servers = [serverOf('time', documentWith(long, 'get_current_utc_get_current_utc_time_get', 'list_zones'))];
    const answers = { [`http://time.test/${long}`]: { time: '12:00' } };
    const selection = selects(['get_current_local', {}], ['get_current', {}], ['make_coffee', {}]);
    await using gateway = await gatewayOf({ turns: [selection, says('Noon.')], servers, answers });
    const seen = await gateway.ask(byPrompt);
    expect(gateway.sent.map((request) => request.url)).toEqual([`http://time.test/${long}`]);
    expect(seen.eventsOf('selection')).toMatchObject([
      {
        found: [long],
        dropped: [{ name: 'get_current' }, { name: 'make_coffee' }],
        repaired: [expect.stringContaining('get_current_local')],
      },
    ]);
    expect(seen.text).toBe('Noon.');
  });

  it('that cannot be had or read costs the tools, not the answer, and the event says why [S4-19]', async () => {
    const silent = new GatewayError('upstream_timeout', 'The backend was silent.');
    const cut: ScriptStep[] = [
      { type: 'text', text: list },
      { type: 'finish', reason: 'length' },
    ];
    const cases: [ScriptStep[], JsonObject][] = [
      [[silent], { error: { code: 'upstream_timeout', message: 'The backend was silent.' } }],
      [says('No tool is needed.'), { unreadable: 'No tool is needed.' }],
      [cut, { unreadable: list, cut: true }],
    ];
    for (const [selection, reason] of cases) {
      await using gateway = await clockGateway([selection, says('Hello.')]);
      const seen = await gateway.ask(byPrompt);
      expect([seen.status, seen.text, gateway.sent]).toEqual([200, 'Hello.', []]);
      expect(seen.eventsOf('selection')).toMatchObject([reason]);
    }
  });
});

describe('what was selected', () => {
  it('runs side by side where it only reads, and its results are appended in the order of the selection [S4-39]', async () => {
    const gate = Promise.withResolvers<void>();
    const slow = async () => {
      await gate.promise;
      return jsonResponse({ time: '12:00' });
    };
    const answers = { 'http://time.test/now': slow, 'http://time.test/later': { time: '13:00' } };
    await using gateway = await clockGateway([selects(['now', {}], ['later', {}]), says('Noon.')], { answers });
    const asked = gateway.ask(byPrompt);
    await waitFor(() => expect(gateway.sent.map((request) => request.url)).toEqual(['http://time.test/now', 'http://time.test/later']));
    gate.resolve();
    await asked;
    expect(lastContent(gateway.model.requests[1]?.messages)).toBe(
      `${question}\n\nTool \`time/now\` Output: {\n  "time": "12:00"\n}\n\nTool \`time/later\` Output: {\n  "time": "13:00"\n}`,
    );
  });

  it('runs one after another where it may write, in the order of the selection [S4-39]', async () => {
    const gate = Promise.withResolvers<void>();
    const slow = async () => {
      await gate.promise;
      return jsonResponse({ saved: 1 });
    };
    const nothing = { type: 'object', properties: {} };
    await using gateway = await gatewayOf({
      turns: [selects(['write', {}], ['erase', {}]), says('Done.')],
      servers: [serverOf('lab', documentOf({ write: nothing, erase: nothing }))],
      answers: { 'http://lab.test/write': slow, 'http://lab.test/erase': { erased: 1 } },
    });
    const asked = gateway.ask(byPrompt);
    const written = (): string[] => gateway.sent.filter(({ method }) => method === 'POST').map(({ url }) => url);
    await waitFor(() => expect(written()).toEqual(['http://lab.test/write']));
    // Whatever else could run has had its turn.
    await new Promise((resolve) => setImmediate(resolve));
    expect(written()).toHaveLength(1);
    gate.resolve();
    await asked;
    expect(written()).toEqual(['http://lab.test/write', 'http://lab.test/erase']);
  });

  it('is appended to the last user message alone, after a blank line, under the name of its source [S0-18, S4-37]', async () => {
    const earlier = [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi.' },
    ];
    const own = { url: 'http://own.test', openapi: documentWith('mine') };
    await using gateway = await clockGateway([selects(['now', {}], ['mine', {}]), says('Noon.')], {
      answers: { ...clockAnswers, 'http://own.test/mine': answerOf('own words', { type: 'text/plain' }) },
    });
    await gateway.ask({ ...byPrompt, messages: [...earlier, { role: 'user', content: 'And now?' }], tool_servers: [own] });
    const messages = gateway.model.requests[1]?.messages;
    expect(messages?.slice(0, 3)).toMatchObject(earlier);
    expect(messages).toHaveLength(4);
    expect(lastContent(messages)).toBe('And now?\n\nTool `time/now` Output: {\n  "time": "12:00"\n}\n\nTool `mine` Output: own words');
  });

  it('and failed has its error in the place of its result, and gives no source [S4-33]', async () => {
    const answers = { ...clockAnswers, 'http://time.test/now': answerOf('{"detail":"out of order"}', { status: 500 }) };
    await using gateway = await clockGateway([selects(['now', {}], ['later', {}]), says('Noon.')], { answers });
    const seen = await gateway.ask(byPrompt);
    expect(lastContent(gateway.model.requests[1]?.messages)).toBe(
      `${question}\n\nTool \`time/now\` Output: {"error":"HTTP 500 Internal Server Error: out of order"}` +
        '\n\nTool `time/later` Output: {\n  "time": "13:00"\n}',
    );
    expect(seen.sources).toMatchObject([{ source: { name: 'TOOL:time/later' } }]);
    expect(seen.text).toBe('Noon.');
  });
});

describe('inline files', () => {
  const files = [{ type: 'text', name: 'notes.txt', content: 'The code is 7. {{QUERY}}' }];
  const environment = { RAG_TEMPLATE: 'Know {{CONTEXT}} for {{QUERY}}' };

  it('become sources and context by the template; results of tools are no part of that context [S4-42]', async () => {
    await using gateway = await clockGateway([selects(['now', {}]), says('Noon.')], { environment });
    const seen = await gateway.ask({ ...byPrompt, files });
    const [system, user] = gateway.model.requests[1]?.messages ?? [];
    expect(system).toEqual({
      role: 'system',
      content: `Know <source id="1" name="notes.txt">The code is 7. {{QUERY}}</source> for ${question}`,
    });
    expect(user?.content).toBe(`${question}\n\nTool \`time/now\` Output: {\n  "time": "12:00"\n}`);
    expect(seen.sources).toEqual([
      { source: { name: 'notes.txt' }, document: ['The code is 7. {{QUERY}}'], metadata: [{ source: 'notes.txt' }] },
      expect.objectContaining({ source: { name: 'TOOL:time/now' }, tool_result: true }),
    ]);
  });

  it('stand before the first user message for a model of Ollama, and in a system message for others [S4-42]', async () => {
    const messages = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi.' },
      { role: 'user', content: 'What is the code?' },
    ];
    const sentTo = async (owner: string): Promise<unknown[]> => {
      const model = new ScriptedModel(says('7'));
      await using gateway = await gatewayOf({ backends: [backendOf(model, ['model'], { owner })], environment });
      await gateway.ask({ messages, tool_ids: [], files: [{ ...files[0], content: 'It is 7.' }] });
      return model.requests[0]?.messages.map(({ role, content }) => [role, content]) ?? [];
    };
    const context = 'Know <source id="1" name="notes.txt">It is 7.</source> for What is the code?';
    const conversation = messages.map(({ role, content }) => [role, content]);
    expect(await sentTo('openai')).toEqual([['system', context], ...conversation]);
    expect(await sentTo('ollama')).toEqual([['user', `${context}\n\nHello`], ...conversation.slice(1)]);
  });

  it('that are not there add nothing [S4-42]', async () => {
    await using gateway = await clockGateway([selects(['now', {}]), says('Noon.')], { environment });
    const seen = await gateway.ask(byPrompt);
    expect(gateway.model.requests[1]?.messages.map((message) => message.role)).toEqual(['user']);
    expect(seen.sources).toHaveLength(1);
  });
});
