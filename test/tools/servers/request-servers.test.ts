import { describe, expect, it } from 'vitest';
import type { RequestToolServer } from '../../../src/core/chat/chat.ts';
import { limits } from '../../../src/core/limits.ts';
import { GatewayError, OutboundError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { RunContext } from '../../../src/core/runs/run.ts';
import type { BrowserCall, CallBrowser } from '../../../src/core/tools/browser-call.ts';
import type { Tool, ToolOutcome } from '../../../src/core/tools/tool.ts';
import { nameFunctions } from '../../../src/tools/catalog/named-functions.ts';
import { offerTools } from '../../../src/tools/catalog/offer-tools.ts';
import { openRequestServers } from '../../../src/tools/servers/request-servers.ts';
import { runContext } from '../../_support/tools.ts';
import { documentWith, neverAnswers, scriptedSend } from '../scripted-send.ts';
import type { ScriptedSend } from '../scripted-send.ts';

const url = 'http://10.0.0.7:8000';
const browserRun = runContext({ sessionId: 's' });
const flatSpec = {
  type: 'function',
  name: 'get now',
  description: 'Tells the time',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};

function server(fields: Partial<RequestToolServer> = {}): RequestToolServer {
  return { url, authType: 'none', headers: {}, ...fields };
}

/** Each operation adds a property to a schema with 1,500. */
function heavyDocument(count: number): JsonObject {
  const properties = Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`p${index}`, { type: 'string' }]));
  const schema = { allOf: [{ $ref: '#/components/schemas/B' }, { properties: { z: { type: 'string' } } }] };
  const operation = { requestBody: { content: { 'application/json': { schema } } } };
  return {
    openapi: '3.1.0',
    paths: Object.fromEntries(Array.from({ length: count }, (_, index) => [`/p${index}`, { post: operation }])),
    components: { schemas: { B: { type: 'object', properties } } },
  };
}

interface Opened {
  /** Of candidates, before an offer is made of them. */
  count: number;
  tools: Tool[];
  warnings: { code: string; message: string }[];
  calls: BrowserCall[];
  script: ScriptedSend;
}

interface Given {
  run?: RunContext;
  script?: ScriptedSend;
  toolTimeoutMs?: number;
}

async function open(
  toolServers: RequestToolServer[],
  { run = runContext(), script = scriptedSend(), toolTimeoutMs }: Given = {},
): Promise<Opened> {
  const calls: BrowserCall[] = [];
  const callBrowser: CallBrowser = async (call) => {
    calls.push(call);
    return { type: 'result', value: 'from the browser' };
  };
  const supplied = await openRequestServers({ toolServers, toolTimeoutMs }, run, {
    send: script.send,
    callBrowser,
    browserToolTimeoutMs: 60_000,
  });
  const functions = await nameFunctions(
    supplied.map(({ candidates }) => candidates),
    [],
  );
  const offer = await offerTools(functions, { query: () => '' });
  return {
    tools: [...offer.tools.values()],
    count: supplied.flatMap(({ candidates }) => candidates).length,
    warnings: supplied.flatMap(({ warnings }) => warnings),
    calls,
    script,
  };
}

function call(tool: Tool | undefined, args: JsonObject = {}, run: RunContext = browserRun): Promise<ToolOutcome> {
  if (tool === undefined) throw new Error('There is no tool.');
  return tool.run({ callId: 'call-1', args, run, signal: run.signal, timeoutMs: 1_000 });
}

const kinds = (opened: Opened): string[] => opened.tools.map((tool) => `${tool.kind} ${tool.spec.name}`);

describe('where functions of a request run', () => {
  const openapi = documentWith('now');
  it.each<[string, RunContext, RequestToolServer['execution'], string]>([
    ['in the browser with a session', browserRun, undefined, 'browser'],
    ['in the gateway without one', runContext(), undefined, 'openapi'],
    ['in the gateway when the request says so', browserRun, 'gateway', 'openapi'],
    ['in the browser when the request says so', runContext(), 'browser', 'browser'],
  ])('%s', async (_case, run, execution, kind) => {
    const opened = await open([server({ openapi, ...(execution !== undefined && { execution }) })], { run });
    expect(kinds(opened)).toEqual([`${kind} now`]);
    expect(opened.tools[0]).toMatchObject({ label: 'now', server: url });
    expect(opened.script.requests).toEqual([]);
  });
});

describe('a function that runs in the browser', () => {
  it('is called by its own name with the finished request and no credential', async () => {
    const openapi = documentWith('get now');
    const opened = await open([server({ openapi, authType: 'bearer', key: 'CANARY', headers: { 'x-a': 'CANARY' } })], { run: browserRun });
    expect(await call(opened.tools[0], { city: 'Tokyo' })).toEqual({ type: 'result', value: 'from the browser' });
    expect(opened.calls).toMatchObject([
      {
        callId: 'call-1',
        name: 'get now',
        offeredName: 'get_now',
        params: { city: 'Tokyo' },
        server: { url, info: { title: 'Clocks', version: '1.0.0' } },
        request: { method: 'GET', url: `${url}/get%20now?city=Tokyo` },
      },
    ]);
    expect(JSON.stringify(opened.calls)).not.toContain('CANARY');
  });

  it.each([
    ['flat', flatSpec],
    ['wrapped', { type: 'function', function: flatSpec }],
    ['without type', { name: flatSpec.name, description: flatSpec.description, parameters: flatSpec.parameters }],
  ])('is known by its specs (%s) where there is no document', async (_case, spec) => {
    const opened = await open([server({ specs: [spec], info: { title: 'T' } })], { run: browserRun });
    expect(opened.tools[0]?.spec).toEqual({ name: 'get_now', description: 'Tells the time', parameters: flatSpec.parameters });
    await call(opened.tools[0], { city: 'Tokyo' });
    expect(opened.calls).toEqual([
      { callId: 'call-1', name: 'get now', offeredName: 'get_now', params: { city: 'Tokyo' }, server: { url, info: { title: 'T' } } },
    ]);
    expect(opened.script.requests).toEqual([]);
  });

  it('comes from the document where both are there, because specs are lossy', async () => {
    expect(kinds(await open([server({ openapi: documentWith('now'), specs: [flatSpec] })], { run: browserRun }))).toEqual(['browser now']);
  });

  it('comes from the fetched document where neither is there, without the key', async () => {
    const script = scriptedSend({ [`${url}/openapi.json`]: documentWith('now') });
    const opened = await open([server({ authType: 'bearer', key: 'CANARY' })], { run: browserRun, script });
    expect(kinds(opened)).toEqual(['browser now']);
    expect(JSON.stringify(script.requests[0]?.headers)).not.toContain('CANARY');
  });

  it.each([
    [undefined, 60_000],
    [5_000, 5_000],
  ])('has, with the limit %j of the request, %d ms', async (toolTimeoutMs, expected) => {
    const opened = await open([server({ specs: [flatSpec] })], { run: browserRun, ...(toolTimeoutMs !== undefined && { toolTimeoutMs }) });
    expect(opened.tools[0]?.timeoutMs).toBe(expected);
  });

  it('gets parameters that are an object, whatever its specs say, and is left out without a name', async () => {
    const specs = [
      { name: 'a', parameters: 'none' },
      { name: 'b', parameters: { properties: [] } },
      { description: 'nameless' },
    ] as unknown as JsonObject[];
    const opened = await open([server({ specs })], { run: browserRun });
    expect(opened.tools.map((tool) => tool.spec.parameters)).toEqual([
      { type: 'object', properties: {} },
      { type: 'object', properties: {} },
    ]);
    expect(opened.warnings).toEqual([
      { code: 'function_invalid', message: 'The function tool_servers.0.specs.2 is left out: it has no name.' },
    ]);
  });
});

describe('`config` of a server of a request', () => {
  const openapi: JsonObject = {
    openapi: '3.1.0',
    paths: { '/pay': { post: { operationId: 'pay' } }, '/look': { get: { operationId: 'look', tags: ['safe'] } } },
  };
  const specs = [{ name: 'pay' }, { name: 'look' }];
  const bindings: [string, Partial<RequestToolServer>, RunContext][] = [
    ['in the browser', { openapi }, browserRun],
    ['in the browser from specs', { specs }, browserRun],
    ['in the gateway', { openapi }, runContext()],
  ];

  it.each(bindings)('lets functions wait for a human (%s)', async (_where, fields, run) => {
    const waiting = async (config: JsonObject): Promise<string[]> =>
      (await open([server({ ...fields, config })], { run })).tools.flatMap(({ label, needsApproval }) =>
        needsApproval === true ? [label] : [],
      );
    expect(await waiting({ needs_approval: ['pay'] })).toEqual(['pay']);
    expect(await waiting({ needs_approval: true })).toEqual(['pay', 'look']);
    expect(await waiting({})).toEqual([]);
  });

  it.each<[JsonObject, string[], string[]]>([
    [{ read_only: true }, ['look'], []],
    [{ methods: ['POST'] }, ['pay'], []],
    [{ tags: ['!safe'] }, ['pay'], ['pay', 'look']],
    [{ function_name_filter_list: 'look, other' }, ['look'], ['look']],
    [{ function_name_filter_list: ['!look'] }, ['pay'], ['pay']],
  ])('%j keeps functions back; of specs nobody knows the method', async (config, ofDocument, ofSpecs) => {
    const labels = async (fields: Partial<RequestToolServer>, run: RunContext): Promise<string[]> =>
      (await open([server({ ...fields, config })], { run })).tools.map(({ label }) => label);
    const seen = await Promise.all(bindings.map(([, fields, run]) => labels(fields, run)));
    expect(seen).toEqual([ofDocument, ofSpecs, ofDocument]);
  });

  it('that leaves nothing is told', async () => {
    const { warnings } = await open([server({ openapi, config: { tags: ['other'] } })]);
    expect(warnings).toEqual([{ code: 'tool_server_empty', message: expect.stringContaining('none of its tags is listed in tags') }]);
  });
});

describe('a function that the gateway executes for a request', () => {
  it('is called with the key and headers of the request, under the rules for what a request names', async () => {
    const script = scriptedSend({ [`${url}/openapi.json`]: documentWith('now'), [`${url}/now`]: { time: '12:00' } });
    const opened = await open([server({ authType: 'bearer', key: 'k', headers: { 'X-A': '1' } })], { script });
    expect(await call(opened.tools[0], { city: 'Tokyo' }, runContext())).toEqual({ type: 'result', value: { time: '12:00' } });
    expect(script.requests.map((request) => request.url)).toEqual([`${url}/openapi.json`, `${url}/now?city=Tokyo`]);
    for (const request of script.requests) {
      expect(request.headers).toMatchObject({ authorization: 'Bearer k', 'x-a': '1' });
      expect(request.trust).toEqual({ kind: 'request', mayReachPrivate: true });
    }
  });

  it.each([
    ['an administrator', { id: 'a', role: 'admin', isOpen: false }, true],
    ['whoever is there while the gateway is open', { id: 'o', role: 'user', isOpen: true }, true],
    ['a user', { id: 'u', role: 'user', isOpen: false }, false],
  ] as const)('may reach private addresses for %s: %s', async (_case, caller, mayReachPrivate) => {
    const script = scriptedSend({ [`${url}/openapi.json`]: documentWith('now') });
    await open([server()], { run: runContext({ caller }), script });
    expect(script.requests[0]?.trust).toEqual({ kind: 'request', mayReachPrivate });
  });

  it('cannot come from specs alone', async () => {
    const error = await open([server({ specs: [flatSpec] })]).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(GatewayError);
    expect(error).toMatchObject({
      code: 'document_required',
      status: 400,
      param: 'tool_servers.0',
      message: expect.stringMatching(/"openapi".*"path"/),
    });
  });

  it('comes from the document at the path where specs are there too, without the key on another host', async () => {
    const path = 'https://docs.test/d.json';
    const script = scriptedSend({ [path]: documentWith('now') });
    const opened = await open([server({ specs: [flatSpec], path, authType: 'bearer', key: 'CANARY' })], { script });
    expect(kinds(opened)).toEqual(['openapi now']);
    expect(JSON.stringify(script.requests[0]?.headers)).not.toContain('CANARY');
  });
});

describe('a server of a request', () => {
  it.each([
    ['cannot be reached', new OutboundError('unreachable', 'connect ECONNREFUSED'), 'tool_server_unreachable'],
    ['is not allowed', new OutboundError('denied', 'Set TOOL_SERVER_ALLOW=…'), 'egress_denied'],
    ['has no document', { hello: 'world' }, 'tool_server_invalid'],
  ])('that %s is left out with a warning, and the others stay', async (_case, answer, code) => {
    const script = scriptedSend({ [`${url}/openapi.json`]: answer });
    const opened = await open([server(), server({ url: 'http://b.test', openapi: documentWith('now') })], { script });
    expect(kinds(opened)).toEqual(['openapi now']);
    expect(opened.warnings).toEqual([{ code, message: expect.stringContaining(`${url} (tool_servers.0) is left out: `) }]);
  });

  it('supplies every operation and every entry of specs, however many', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `f${index}`);
    const specs = names.map((name) => ({ ...flatSpec, name }));
    const inBrowser = { run: browserRun };
    const described = await open([server({ specs })], inBrowser);
    const converted = await open([server({ openapi: documentWith(...names) })], inBrowser);
    for (const { count, warnings } of [described, converted]) expect([count, warnings]).toEqual([300, []]);
  });

  it('gives way where all servers together have more functions than a request may have, and a warning says so', async () => {
    const half = limits.requestFunctions / 2;
    const specs = Array.from({ length: half }, (_, index) => ({ name: `f${index}` }));
    const opened = await open(
      ['http://a.test', 'http://b.test', 'http://c.test'].map((address) => server({ url: address, specs })),
      { run: browserRun },
    );
    expect(opened.count).toBe(limits.requestFunctions);
    expect(opened.warnings).toEqual([
      { code: 'functions_left_out', message: expect.stringMatching(`^At least ${half} .*c\\.test \\(tool_servers\\.2\\)`) as string },
    ]);
  });

  it('shares what may be converted with the other servers of its request', async () => {
    const openapi = heavyDocument(60);
    const { count: alone, warnings } = await open([server({ openapi })]);
    const together = await open([server({ openapi }), server({ openapi })]);
    expect(alone).toBeGreaterThan(5);
    expect(together.count).toBeLessThanOrEqual(alone);
    expect(warnings.map(({ code }) => code)).toEqual(['functions_left_out']);
    expect(together.warnings.map(({ code }) => code)).toEqual(['functions_left_out', 'tool_server_empty']);
    expect(together.warnings[1]?.message).toContain('together are too large');
  });

  it('without any operation is named', async () => {
    const opened = await open([server({ openapi: { openapi: '3.1.0', info: { title: 't', version: '1' }, paths: {} } })]);
    expect(opened.warnings).toMatchObject([{ code: 'tool_server_empty' }]);
  });

  it.each(['file:///etc/passwd', 'nowhere', 'http://user:CANARY@a.test'])('with the address %s is a wrong request', async (wrong) => {
    const error = await open([server({ url: wrong, specs: [] })], { run: browserRun }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'invalid_request', param: 'tool_servers.0.url' });
    expect(String(error)).not.toContain('CANARY');
  });

  it('may be one of 64', async () => {
    const error = await open(Array.from({ length: 65 }, () => server())).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'invalid_request', param: 'tool_servers' });
  });

  it('is not waited for when the caller leaves', async () => {
    const leaver = new AbortController();
    const opening = open([server()], {
      run: runContext({ signal: leaver.signal }),
      script: scriptedSend({ [`${url}/openapi.json`]: neverAnswers }),
    });
    leaver.abort(new Error('gone'));
    await expect(opening).rejects.toThrow('gone');
  });
});
