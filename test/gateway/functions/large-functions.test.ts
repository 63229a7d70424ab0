import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/shared/json/json.ts';
import { largeDocument } from '../../_support/large-document.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { gatewayOf, selects, serverOf, textOfMessage } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';
import { functionTokens } from '../../../src/tools/catalog/cut/cut-spec.ts';

const wanted = 'create things of Kind12';
const messages = [{ role: 'user', content: wanted }];
/** What the function is called with: most of it lies below the cut. */
const thing = (deputy: JsonValue): JsonObject => ({
  meta: { labels: { colour: 'red' } },
  spec: { part0: { name: 'a', next: { name: 'b', next: { name: 'c', meta: { owner: { deputies: [{ name: deputy }] } } } } } },
});
const depth = '/spec/part0/next/next/meta/owner/deputies';

async function largeGateway(turns: ScriptStep[][], operations = 200): Promise<Gateway> {
  const servers = [serverOf('large', largeDocument(operations))];
  const gateway = await gatewayOf({ turns, servers, answers: { 'http://large.test/kinds/12': { created: true } } });
  // A chat would not wait for a server that opens slowly, as on a busy machine; a named function is waited for.
  expect((await invoke(gateway, 'large/readKind1', {})).statusCode).toBe(400);
  return gateway;
}

function invoke({ app }: Gateway, name: string, args: JsonObject) {
  return app.server.inject({
    method: 'POST',
    url: `/api/tools/${name}/invoke`,
    headers: { host: '127.0.0.1:8080' },
    payload: { arguments: args },
  });
}

function tokensOf(value: unknown): number {
  return JSON.stringify(value).length / 4;
}

describe('a function that is larger than its share', () => {
  it('is offered cut, explored, and called with what lies below the cut, in native mode', async () => {
    await using gateway = await largeGateway(
      [
        calls(['describe_function', { name: 'createKind12', pointer: depth }]),
        calls(['describe_function', { name: 'createKind12', pointer: 'spec.part0.next.next.meta.owner.deputies[0].name' }]),
        calls(['createKind12', thing('Ada')]),
        says('Done.'),
      ],
      1_000,
    );
    const seen = await gateway.ask({ messages, params: { function_calling: 'native' } });
    expect(seen.text).toBe('Done.');
    expect(gateway.sent.map(({ url }) => url)).toEqual(['http://large.test/kinds/12']);
    expect(JSON.parse(String(gateway.sent[0]?.body))).toMatchObject(thing('Ada'));
    const offered = gateway.model.requests[0]?.tools.find(({ name }) => name === 'createKind12');
    expect(tokensOf(offered)).toBeLessThanOrEqual(functionTokens);
    expect(JSON.stringify(offered)).not.toContain('Who.');
    expect(offered?.description).toContain('describe_function');
    const [first, second] = seen.eventsOf('tool.result').map((data) => data['response'] as JsonObject);
    expect(first).toMatchObject({ pointer: depth, schema: { type: 'array', items: { properties: { name: { type: 'string' } } } } });
    expect(second).toMatchObject({ pointer: `${depth}/*/name`, schema: { type: 'string', description: 'Who.' } });
  });

  it('is chosen, explored and called by a prompt, which asks again after functions were only looked up', async () => {
    await using gateway = await largeGateway(
      [
        selects(['createKind12', {}], ['describe_function', {}]),
        selects(['describe_function', { name: 'createKind12', pointer: `${depth}/0` }]),
        selects(['createKind12', {}]),
        selects(['createKind12', thing('Ada')]),
        says('Done.'),
      ],
      1_000,
    );
    const seen = await gateway.ask({ messages, params: { function_calling: 'default' } });
    expect(seen.text).toBe('Done.');
    expect(JSON.parse(String(gateway.sent[0]?.body))).toMatchObject(thing('Ada'));
    const { requests } = gateway.model;
    const query = textOfMessage(requests[2]?.messages.at(-1));
    expect(query).toContain(`Query: ${wanted}\n\nTool \`describe_function\` Output: `);
    expect(query).toContain('Who.');
    const answered = textOfMessage(requests.at(-1)?.messages.at(-1));
    expect(answered).toContain('Tool `large/createKind12` Output: ');
    expect(answered, 'what was looked up is not read once more').not.toContain('describe_function');
    expect(JSON.stringify(requests[1]?.output), 'nothing that was cut is forbidden').toContain('"additionalProperties":true');
  });

  it.each(['native', 'default'])('is refused where arguments below the cut are wrong, naming the place, in mode %s', async (mode) => {
    const wrong = thing({ first: 'Ada' });
    const turns =
      mode === 'native'
        ? [calls(['createKind12', wrong])]
        : [selects(['createKind12', {}]), selects(['createKind12', wrong]), selects(['createKind12', wrong])];
    await using gateway = await largeGateway([...turns, says('It cannot be done.')]);
    const seen = await gateway.ask({ messages, params: { function_calling: mode } });
    expect(gateway.sent).toEqual([]);
    expect(JSON.stringify([seen.eventsOf('tool.result'), seen.eventsOf('selection')])).toContain(
      'spec.part0.next.next.meta.owner.deputies.0.name: must be string',
    );
  });

  it('is explored and called in mode react', async () => {
    const acts = (name: string, args: JsonObject): ScriptStep[] =>
      says(`Thought: I need it.\nAction: ${name}\nAction Input: ${JSON.stringify(args)}`);
    await using gateway = await largeGateway([
      acts('describe_function', { name: 'createKind12', pointer: depth }),
      acts('createKind12', thing('Ada')),
      says('Final Answer: Done.'),
    ]);
    const seen = await gateway.ask({ messages, params: { function_calling: 'react' } });
    expect(seen.text).toBe('Done.');
    expect(JSON.parse(String(gateway.sent[0]?.body))).toMatchObject(thing('Ada'));
  });

  it('may be explored in mode simple before its one call', async () => {
    await using gateway = await largeGateway([
      calls(['describe_function', { name: 'createKind12' }]),
      calls(['createKind12', thing('Ada')]),
      says('Done.'),
    ]);
    const seen = await gateway.ask({ messages, params: { function_calling: 'simple' } });
    expect([seen.text, gateway.sent.length]).toEqual(['Done.', 1]);
  });

  it('costs nothing where it is not offered', async () => {
    await using gateway = await largeGateway([says('Hello.')]);
    await gateway.ask({ messages, tool_ids: ['server:large/readKind1'] });
    expect(gateway.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['readKind1']);
  });

  it('is not looked up without an end', async () => {
    const lookup = selects(['describe_function', { name: 'createKind12' }]);
    const names = selects(['describe_function', {}]);
    await using gateway = await largeGateway([names, lookup, names, lookup, says('I give up.')]);
    const seen = await gateway.ask({ messages, params: { function_calling: 'default', max_tool_rounds: 2 } });
    expect(seen.text).toBe('I give up.');
    expect(seen.eventsOf('limit.reached')).toMatchObject([{ limit: 'lookups', value: 2 }]);
  });
});

describe('functions that were deferred', () => {
  it('are found and called by a prompt', async () => {
    await using gateway = await largeGateway([
      selects(['find_tools', {}]),
      selects(['find_tools', { query: 'remove Kind7' }]),
      selects(['removeKind7', {}]),
      selects(['removeKind7', { name: 'it' }]),
      says('Read.'),
    ]);
    const seen = await gateway.ask({ messages, params: { function_calling: 'default' } });
    expect(seen.eventsOf('tool.call').map((data) => data['tool'])).toEqual(['find_tools', 'removeKind7']);
    expect(seen.text).toBe('Read.');
  });
});

it('lists hold it cut, with the function that describes it, and reports hold it whole', async () => {
  await using gateway = await largeGateway([]);
  const { data } = (await gateway.get('/api/tools')).json<{ data: { name: string; parameters: JsonObject }[] }>();
  const listed = data.find(({ name }) => name === 'createKind12');
  expect(tokensOf(listed)).toBeLessThanOrEqual(functionTokens);
  expect(data.at(-1)?.name).toBe('describe_function');
  const response = await invoke(gateway, 'describe_function', { name: 'createKind12', pointer: `${depth}/0` });
  expect(response.json()).toMatchObject({
    tool: 'describe_function',
    result: { schema: { properties: { name: { description: 'Who.' } } } },
  });
  const { report } = (await gateway.get('/api/tool-servers/large')).json<{
    report: { functions: { name: string; parameters: JsonObject }[] };
  }>();
  expect(tokensOf(report.functions.find(({ name }) => name === 'createKind12')?.parameters)).toBeGreaterThan(25_000);
});
