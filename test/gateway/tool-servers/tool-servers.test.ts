import { describe, expect, it } from 'vitest';
import { OutboundError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ListedTool } from '../../../src/core/tools/tool.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { documentWith } from '../../tools/scripted-send.ts';
import { answerOf, documentOf, gatewayOf, selects, serverOf, textOfMessage } from '../gateway.ts';

const clocks = serverOf('time', documentWith('now'));
const clockAnswers = { 'http://time.test/now': { time: '12:00' } };
const ownUrl = 'http://own.test';
const native = { params: { function_calling: 'native' } };

/** What the registered server of a document has on offer. */
async function listedFrom(document: JsonObject): Promise<ListedTool[]> {
  await using gateway = await gatewayOf({ servers: [serverOf('lab', document)] });
  return (await gateway.get('/api/tools')).json<{ data: ListedTool[] }>().data;
}

function documentFrom(paths: Record<string, JsonObject>, components: JsonObject = {}): JsonObject {
  return { openapi: '3.1.0', info: { title: 'Lab', version: '1' }, paths, components };
}

describe('a registered server', () => {
  it('needs only its address, and its document is read below it', async () => {
    const environment = { TOOL_SERVER_CONNECTIONS: JSON.stringify([{ url: 'http://127.0.0.1:9001/tools' }]) };
    const answers = { 'http://127.0.0.1:9001/tools/openapi.json': documentWith('now') };
    await using gateway = await gatewayOf({ environment, answers });
    expect((await gateway.get('/api/tools')).json()).toMatchObject({ data: [{ name: 'now' }] });
  });

  it('is called by the gateway itself, with a browser at hand or without [S4-21]', async () => {
    for (const session of [{}, { session_id: 'not-there' }]) {
      await using gateway = await gatewayOf({ turns: [calls(['now', {}]), says('Noon.')], servers: [clocks], answers: clockAnswers });
      const seen = await gateway.ask(session);
      expect(gateway.sent.map((request) => request.url)).toEqual(['http://time.test/now']);
      expect(seen.eventsOf('tool.result')).toMatchObject([{ response: { time: '12:00' } }]);
    }
  });

  it('that cannot be reached costs a chat its functions only, with a warning [S4-40]', async () => {
    const maps = toolServerRecord({ id: 'maps', url: 'http://maps.test' });
    const answers = { ...clockAnswers, 'http://maps.test/openapi.json': new OutboundError('unreachable', 'connect ECONNREFUSED') };
    await using gateway = await gatewayOf({ turns: [calls(['now', {}]), says('Noon.')], servers: [maps, clocks], answers });
    const seen = await gateway.ask();
    expect([seen.status, seen.text]).toEqual([200, 'Noon.']);
    expect(gateway.model.requests[0]?.tools.map((spec) => spec.name)).toEqual(['now']);
    expect(seen.eventsOf('warning')).toEqual([
      { code: 'tool_server_unreachable', message: expect.stringMatching(/"maps" is left out: .*ECONNREFUSED/) },
    ]);
  });

  it('is chosen by tool_ids: absent means the defaults, empty means none, an unknown entry is refused [S4-16]', async () => {
    const servers = [clocks, serverOf('extra', documentWith('more'), { isDefault: false })];
    await using gateway = await gatewayOf({ turns: [says('a'), says('b'), says('c'), says('d')], servers });
    const lists = [{}, { tool_ids: [] }, { tool_ids: ['server:extra'] }, { tool_ids: ['server:time/now', 'server:extra'] }];
    for (const body of lists) expect((await gateway.ask(body)).status).toBe(200);
    const offered = gateway.model.requests.map((request) => request.tools.map((spec) => spec.name));
    expect(offered).toEqual([['now'], [], ['more'], ['now', 'more']]);
    const refused = await gateway.ask({ tool_ids: ['server:time', 'server:gone'] });
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.raw)).toMatchObject({ error: { code: 'unknown_tool_id', param: 'tool_ids' } });
    expect(gateway.model.requests).toHaveLength(4);
  });
});

describe('a server of a request', () => {
  it('is converted from its document, beside which its specs do not count [S4-4]', async () => {
    const own = { url: ownUrl, openapi: documentWith('mine'), specs: [{ name: 'other', description: 'x', parameters: {} }] };
    for (const session of [{}, { session_id: 's' }]) {
      await using gateway = await gatewayOf({ turns: [says('Noon.')] });
      await gateway.ask({ ...session, tool_servers: [own] });
      expect(gateway.model.requests[0]?.tools).toMatchObject([{ name: 'mine', parameters: { properties: { city: { type: 'string' } } } }]);
    }
  });

  it.each([
    ['http://own.test/openapi.json', 'http://own.test/mine'],
    ['http://own.test/tools/openapi.json', 'http://own.test/tools/mine'],
    ['http://own.test/swagger/v1/swagger.json', 'http://own.test/mine'],
  ])('may be named by its document, as a registered one may: %s', async (url, called) => {
    const answers = { [url]: documentWith('mine'), [called]: { time: '12:00' } };
    await using gateway = await gatewayOf({ turns: [calls(['mine', {}]), says('Noon.')], answers });
    await gateway.ask({ tool_servers: [{ url }] });
    expect(gateway.sent.map((request) => request.url)).toEqual([url, called]);
    await using other = await gatewayOf({ servers: [], turns: [calls(['mine', {}]), says('Noon.')], answers });
    const specs = [{ name: 'lossy', description: 'x', parameters: {} }];
    expect((await other.ask({ tool_servers: [{ url, specs }] })).status).toBe(200);
    expect(other.model.requests[0]?.tools).toMatchObject([{ name: 'mine' }]);
  });

  it('with specs alone serves the browser only [S4-4]', async () => {
    const own = { url: ownUrl, specs: [{ name: 'mine', description: 'x', parameters: { type: 'object', properties: {} } }] };
    await using gateway = await gatewayOf({ turns: [says('Noon.')] });
    expect((await gateway.ask({ session_id: 's', tool_servers: [own] })).status).toBe(200);
    expect(gateway.model.requests[0]?.tools.map((spec) => spec.name)).toEqual(['mine']);
    const refused = await gateway.ask({ tool_servers: [own] });
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.raw)).toMatchObject({ error: { code: 'document_required', param: 'tool_servers.0' } });
  });

  it('is called by the gateway where there is no session [S4-21]', async () => {
    const turns = [calls(['mine', { city: 'Osaka' }]), says('Noon.')];
    await using gateway = await gatewayOf({ turns, answers: { [`${ownUrl}/mine`]: { time: '12:00' } } });
    const seen = await gateway.ask({ tool_servers: [{ url: ownUrl, openapi: documentWith('mine') }] });
    expect(gateway.sent.map((request) => request.url)).toEqual([`${ownUrl}/mine?city=Osaka`]);
    expect(seen.eventsOf('tool.result')).toMatchObject([{ response: { time: '12:00' } }]);
  });

  it('joins the registered ones; on a clash the later function is renamed and both can be called [S4-17]', async () => {
    const servers = [clocks];
    const own = { url: ownUrl, openapi: documentWith('now') };
    await using look = await gatewayOf({ turns: [says('Noon.')], servers });
    await look.ask({ tool_servers: [own] });
    const names = look.model.requests[0]?.tools.map((spec) => spec.name) ?? [];
    expect(names).toEqual(['now', expect.stringMatching(/^now_[0-9a-f]{6}$/)]);
    const turns = [calls(...names.map((name): [string, unknown] => [name, {}])), says('Noon.')];
    const answers = { ...clockAnswers, [`${ownUrl}/now`]: { time: 'own' } };
    await using gateway = await gatewayOf({ turns, servers, answers });
    const seen = await gateway.ask({ tool_servers: [own] });
    expect(gateway.sent.map((request) => request.url)).toEqual(['http://time.test/now', `${ownUrl}/now`]);
    expect(seen.eventsOf('warning')).toMatchObject([{ code: 'function_renamed' }]);
  });

  it('is offered natively with the registered ones and the functions of the caller, and only the latter are returned [S4-18]', async () => {
    const wire = { type: 'function', function: { name: 'yours', description: 'Yours', parameters: { type: 'object', properties: {} } } };
    const turns = [calls(['now', {}], ['mine', {}], ['yours', { a: 1 }])];
    const answers = { ...clockAnswers, [`${ownUrl}/mine`]: { time: 'own' } };
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers });
    const seen = await gateway.ask({ ...native, tools: [wire], tool_servers: [{ url: ownUrl, openapi: documentWith('mine') }] });
    const [request] = gateway.model.requests;
    expect(request?.tools.map((spec) => spec.name)).toEqual(['now', 'mine']);
    expect(request?.callerTools).toEqual([wire]);
    expect(gateway.sent.map((sent) => sent.url)).toEqual(['http://time.test/now', `${ownUrl}/mine`]);
    expect(seen.calls).toMatchObject([{ type: 'function', function: { name: 'yours', arguments: '{"a":1}' } }]);
    expect(seen.calls).toHaveLength(1);
    expect(seen.finish).toEqual(['tool_calls']);
  });

  it('and a registered one give sources that are named by their kind [S4-36]', async () => {
    const own = { url: ownUrl, openapi: documentWith('mine') };
    const args = { city: 'Osaka' };
    const answers = { ...clockAnswers, [`${ownUrl}/mine`]: answerOf('own words', { type: 'text/plain' }) };
    for (const mode of ['native', 'default']) {
      const turns = [(mode === 'native' ? calls : selects)(['now', args], ['mine', args]), says('Noon.')];
      await using gateway = await gatewayOf({ turns, servers: [clocks], answers });
      const seen = await gateway.ask({ params: { function_calling: mode }, tool_servers: [own] });
      expect(seen.sources).toEqual([
        {
          source: { name: 'TOOL:time/now' },
          document: ['{\n  "time": "12:00"\n}'],
          metadata: [{ source: 'TOOL:time/now', parameters: args }],
          tool_result: true,
        },
        {
          source: { name: 'TOOL:mine' },
          document: ['own words'],
          metadata: [{ source: 'TOOL:mine', parameters: args }],
          tool_result: true,
        },
      ]);
    }
  });
});

describe('a function of a document', () => {
  const done = { responses: { 200: { description: 'Done' } } };

  it('is named by its operationId made legal or by method and path, uniquely, whatever the order of the document [S4-6]', async () => {
    const paths = {
      '/a': { get: { operationId: 'get now!', ...done } },
      '/b': { get: { operationId: 'twice', ...done } },
      '/c': { get: { operationId: 'twice', ...done } },
      '/users/{id}/posts': { get: done },
      [`/long/${'x'.repeat(80)}`]: { get: done },
    };
    const namesOf = async (document: JsonObject) =>
      Object.fromEntries((await listedFrom(document)).map((tool) => [tool.description, tool.name]));
    const names = await namesOf(documentFrom(paths));
    expect(names['GET /a']).toBe('get_now');
    expect(names['GET /users/{id}/posts']).toBe('get_users_id_posts');
    expect([names['GET /b'], names['GET /c']]).toEqual(['twice', expect.stringMatching(/^twice_[0-9a-f]{6}$/)]);
    for (const name of Object.values(names)) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
    expect(new Set(Object.values(names)).size).toBe(5);
    expect(await namesOf(documentFrom(Object.fromEntries(Object.entries(paths).toReversed())))).toEqual(names);
  });

  it('is described by the description of its operation, else by its summary [S4-7]', async () => {
    const listed = await listedFrom(
      documentFrom({
        '/a': { get: { operationId: 'a', summary: 'Short', description: 'Long words', ...done } },
        '/b': { get: { operationId: 'b', summary: 'Short', ...done } },
        '/c': { get: { operationId: 'c', summary: 'Short', description: '', ...done } },
      }),
    );
    expect(listed.map((tool) => tool.description)).toEqual(['Long words', 'Short', 'Short']);
  });

  const shelves = documentFrom(
    {
      '/shelves/{shelf}': {
        parameters: [{ $ref: '#/components/parameters/Shelf' }],
        put: {
          operationId: 'put_book',
          parameters: [
            { name: 'lang', in: 'query', schema: { $ref: '#/components/schemas/Language' } },
            { name: 'X-Trace', in: 'header', required: true, schema: { type: 'string' } },
          ],
          requestBody: { $ref: '#/components/requestBodies/Book' },
          ...done,
        },
      },
      '/now': { get: { operationId: 'now', ...done } },
    },
    {
      parameters: { Shelf: { name: 'shelf', in: 'path', required: true, schema: { type: 'integer' } } },
      requestBodies: { Book: { required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/Book' } } } } },
      schemas: {
        Language: { type: 'string' },
        Title: { type: 'string' },
        Book: {
          type: 'object',
          properties: { title: { $ref: '#/components/schemas/Title' }, pages: { type: 'integer' } },
          required: ['title'],
        },
      },
    },
  );

  it('has parameters from path, query, headers and body, through references, with the required ones named [S4-8]', async () => {
    const [put, now] = await listedFrom(shelves);
    expect(put?.parameters).toEqual({
      type: 'object',
      properties: {
        shelf: { type: 'integer' },
        lang: { type: 'string' },
        'X-Trace': { type: 'string' },
        title: { type: 'string' },
        pages: { type: 'integer' },
      },
      required: ['shelf', 'X-Trace', 'title'],
    });
    expect(now?.parameters, 'without any').toEqual({ type: 'object', properties: {}, required: [] });
    const args = { shelf: 7, lang: 'de', 'X-Trace': 't1', title: 'Emma', pages: 3 };
    const answers = { 'http://lab.test/shelves/7': { ok: true } };
    await using gateway = await gatewayOf({
      turns: [calls(['put_book', args]), says('Done.')],
      servers: [serverOf('lab', shelves)],
      answers,
    });
    await gateway.ask();
    expect(gateway.sent).toMatchObject([{ method: 'PUT', url: 'http://lab.test/shelves/7?lang=de', body: '{"title":"Emma","pages":3}' }]);
    const headers = Object.entries(gateway.sent[0]?.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
    expect(Object.fromEntries(headers)).toMatchObject({ 'x-trace': 't1' });
  });

  it('keeps the enumerations, defaults, formats, bounds and item types of its parameters [S4-9]', async () => {
    const properties = {
      unit: { type: 'string', enum: ['seconds', 'hours'], default: 'seconds', description: 'The unit' },
      day: { type: 'string', format: 'date-time', minLength: 3, maxLength: 40, pattern: '^2' },
      count: { type: 'integer', minimum: 1, maximum: 9, default: 2 },
      tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1, maxItems: 4 },
    };
    const [tool] = await listedFrom(documentOf({ wait: { type: 'object', properties, required: ['unit'] } }));
    expect(tool?.parameters).toEqual({ type: 'object', properties, required: ['unit'] });
  });

  it('whose arguments the server refuses tells the model which one was wrong and why [S4-10]', async () => {
    const refusals: [string, number, RegExp][] = [
      ['{"detail":[{"loc":["body","timestamp"],"msg":"Field required","type":"missing"}]}', 422, /body\.timestamp: Field required/],
      ['{"title":"Bad input","errors":{"zone":["is not a time zone"]}}', 400, /zone.*is not a time zone/],
    ];
    for (const [body, status, words] of refusals) {
      const answers = { 'http://time.test/now': answerOf(body, { status }) };
      await using gateway = await gatewayOf({ turns: [calls(['now', {}]), says('Sorry.')], servers: [clocks], answers });
      await gateway.ask();
      const read = textOfMessage(gateway.model.requests[1]?.messages.at(-1));
      expect(read).toContain(`HTTP ${status}`);
      expect(read).toMatch(words);
    }
  });
});
