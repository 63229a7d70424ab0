import { randomBytes } from 'node:crypto';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import { textOf } from '../../../src/core/chat/chat.ts';
import type { ModelBackend, ModelRequest } from '../../../src/core/models/model.ts';
import type { OutboundRequest, OutboundResponse } from '../../../src/core/outbound.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { isJsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, listen } from '../../_support/build-app.ts';
import { calls, generatedBy, says } from '../../_support/scripted-model.ts';
import { servedClients } from '../../http/dialects/parity/clients.ts';
import type { Answer, Call, Turn } from '../../http/dialects/parity/chat.ts';
import { functionGateway } from '../functions/function-gateway.ts';
import { documentOf, serverOf } from '../gateway.ts';
import type { GatewayOptions } from '../gateway.ts';
import { mcpRecord } from '../../tools/mcp/mcp-fixture.ts';
import { jsonResponse } from '../../tools/scripted-send.ts';
import { crowdAccounts } from './crowd-accounts.ts';

const { connect } = (await import(new URL('../../../src/client/toolwharf-client.js', import.meta.url).href)) as {
  connect: (options: {
    url: string;
    token: string;
    user: string;
    functions: Record<string, (params: { marker?: string }) => string>;
    onFrame: (frame: object) => void;
  }) => { ready(): Promise<string>; close(): void };
};

export interface CrowdOptions {
  people: number;
  /** All together, in a random order, `atOnce` at a time. */
  chats: number;
  atOnce: number;
  /** People who also have a browser open. */
  browsers: number;
  /** Of the random order. */
  seed: number;
  /** Where the gateway keeps what it stores; default: in memory. */
  stores?: GatewayOptions;
  /** Positive control: the person whose secret a tool server hands to everybody. */
  leaks?: number;
}

export interface CrowdReport {
  requests: number;
  chats: number;
  /** How often each kind of chat was held. */
  kinds: Record<string, number>;
  /** What reached somebody whom it did not belong to. */
  crossings: string[];
  /** What did not go as it should otherwise. */
  faults: string[];
  /** Access tokens that were refreshed in between. */
  refreshed: number;
}

interface Member {
  id: string;
  key: string;
  /** Only this person's data hold it, and nobody can guess it. */
  marker: string;
  /** For the tool servers where each person has a key of their own. */
  toolKey: string;
  /** Ids of what this person has, for others to try. */
  runs: string[];
  storedChats: string[];
  responses: string[];
  waiting: { run: string; call: string; token: string }[];
  session?: string;
  /** Signs in at the task list just now, which one person does once at a time. */
  isSigningIn?: boolean;
}

const adminKey = 'sk-tw-fixed-administrator';
const markerForm = /MARK-[0-9a-f]{24}/g;
const marked = { type: 'object', properties: { marker: { type: 'string' } } };
/** The same for everybody, so that state and decisions of a chat have to be told apart by the person. */
const chatIds = ['chat-0', 'chat-1', 'chat-2'];
/** Runs of a person that others may try. */
const maxTried = 20;
/** A few refreshes for each person, and many chats with each token. */
const tokenSeconds = 5;

const functions = {
  'notes.js': `import { defineTool } from 'toolwharf';
const marker = { type: 'object', properties: { marker: { type: 'string' } } };
export default [
  defineTool({ name: 'remember', description: 'Remembers', parameters: marker,
    execute({ marker }, { state }) { state.set('said', [...(state.get('said') ?? []), marker].slice(-5)); return 'kept'; } }),
  defineTool({ name: 'recall', description: 'Recalls', parameters: { type: 'object', properties: {} },
    execute: (_, { state }) => state.get('said') ?? [] }),
  defineTool({ name: 'about_me', description: 'Says who asks', parameters: { type: 'object', properties: {} }, cacheTtlMs: 60000,
    execute: (_, { user }) => globalThis.crowdMarkers.get(user.key + '/' + user.id) ?? 'nobody known' }),
];
`,
};

/** Many people behind two keys, who use everything that the gateway keeps for somebody, in between each other. */
export async function runCrowd(options: CrowdOptions): Promise<CrowdReport> {
  const { people, chats, atOnce, browsers, seed, stores, leaks } = options;
  const random = randomOf(seed);
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value;
  const report: CrowdReport = { requests: 0, chats: 0, kinds: {}, crossings: [], faults: [], refreshed: 0 };
  const members = new Map<string, Member>();
  const byPerson = (personId: unknown): Member | undefined => [...members.values()].find(({ id }) => id === personId);

  /** The one check that everything goes through: foreign markers are crossings. */
  function check(text: string, { marker, id }: Pick<Member, 'marker' | 'id'>, where: string): void {
    for (const [found] of text.matchAll(markerForm)) if (found !== marker) report.crossings.push(`${where} of ${id} has ${found}`);
  }
  const fault = (what: string): void => void report.faults.push(what.slice(0, 500));

  // What the person of a call sends and gets is their own, at every tool server.
  const personal =
    (where: string, personOf: (request: OutboundRequest) => Member | undefined) =>
    async (request: OutboundRequest): Promise<OutboundResponse> => {
      const member = personOf(request);
      if (member === undefined) return jsonResponse({ error: 'nobody' }, 403);
      check(`${bodyOf(request)} ${JSON.stringify(request.headers)}`, member, where);
      const shown = leaks === undefined ? member : [...members.values()][leaks];
      return jsonResponse({ marker: shown?.marker ?? '' });
    };
  const byHeader = (request: OutboundRequest): Member | undefined => byPerson(request.headers?.['x-user']);
  const byBearer = ({ headers }: OutboundRequest): Member | undefined =>
    [...members.values()].find(({ toolKey }) => headers?.['authorization'] === `Bearer ${toolKey}`);
  const accounts = crowdAccounts({ tokenSeconds, fault });
  const byAccount = (request: OutboundRequest): Member | undefined => byPerson(accounts.accountOf(request));
  const answers: GatewayOptions['answers'] = {
    ...accounts.answers,
    'http://calendar.test/read_calendar': personal('the calendar', byAccount),
    'http://tasks.test/read_tasks': personal('the task list', byAccount),
    'http://diary.test/write': personal('the diary', byHeader),
    'http://diary.test/pay': personal('the bank', byHeader),
    'http://mail.test/whoami': personal('the mail server', byBearer),
    'http://mcp.test/mcp': (request) => answerMcp(request, personal('the MCP server', byBearer)),
  };
  const headers = { 'x-user': '{{USER_ID}}' };
  const servers = [
    serverOf('diary', documentOf({ write: marked, pay: marked }), { headers, extra: { config: { needs_approval: ['pay'] } } }),
    serverOf('mail', documentOf({ whoami: marked }), { authType: 'bearer', isPerUser: true }),
    serverOf('calendar', documentOf({ read_calendar: marked }), { authType: 'oauth', isPerUser: true, oauth: accounts.settings }),
    serverOf('tasks', documentOf({ read_tasks: marked }), { authType: 'oauth', isPerUser: true, oauth: accounts.settings }),
    mcpRecord({ id: 'post', url: 'http://mcp.test/mcp', authType: 'bearer', isPerUser: true }),
  ];

  await using gateway = await functionGateway(functions, {
    backends: [backendOf(crowdModel(check, members))],
    servers,
    answers,
    ...stores,
    environment: { TOOLWHARF_ADMIN_KEY: adminKey, STORE_CHATS: 'true', MAX_TOOL_ROUNDS: '4' },
  });
  const address = await listen(gateway.app);
  const { host } = new URL(address);

  async function request(
    member: Member,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    payload?: object,
    more = {},
  ): Promise<Reply> {
    report.requests += 1;
    // What is sent to tool servers is checked there, and would only fill the memory.
    gateway.sent.length = 0;
    const sent = { host, 'x-api-key': member.key, 'x-person': member.id, ...more };
    const response = await gateway.app.server.inject({ method, url, headers: sent, ...(payload && { payload }) });
    check(response.body, member, `${method} ${url}`);
    const isJson = response.headers['content-type']?.includes('application/json') === true;
    return {
      status: response.statusCode,
      text: response.body,
      body: isJson ? response.json<JsonObject>() : {},
      run: String(response.headers['x-toolwharf-run-id'] ?? ''),
    };
  }

  async function makeMembers(): Promise<Disposable> {
    const keys: string[] = [];
    for (const name of ['first', 'second']) {
      const payload = { name, role: 'user', users: { from: 'header', name: 'x-person' } };
      const made = await gateway.app.server.inject({ method: 'POST', url: '/api/keys', headers: { 'x-api-key': adminKey }, payload });
      keys.push(String(made.json<JsonObject>()['key']));
    }
    for (let index = 0; index < people; index += 1) {
      const marker = `MARK-${randomBytes(12).toString('hex')}`;
      // Ids that begin with each other, as numbers do.
      const member: Member = {
        id: `person/${index}`,
        key: keys[index % 2] ?? '',
        marker,
        toolKey: randomBytes(12).toString('hex'),
        runs: [],
        storedChats: [],
        responses: [],
        waiting: [],
      };
      members.set(marker, member);
    }
    const listed = await gateway.app.server.inject({ method: 'GET', url: '/api/keys', headers: { 'x-api-key': adminKey } });
    const idOf = new Map((listed.json<JsonObject>()['data'] as JsonObject[]).map(({ id, name }) => [name, String(id)]));
    const known = [...members.values()].map(
      ({ key, id, marker }) => [`${idOf.get(key === keys[0] ? 'first' : 'second')}/${id}`, marker] as const,
    );
    Object.assign(globalThis, { crowdMarkers: new Map(known) });
    for (const member of members.values()) {
      for (const server of ['mail', 'post']) {
        const { status, text } = await request(member, 'PUT', `/api/credentials/${server}`, { key: member.toolKey });
        if (status !== 200) fault(`credentials: ${text}`);
      }
      const link = await request(member, 'POST', '/api/credentials/calendar/connect');
      if (link.status !== 200) throw new Error(`No link to connect: ${link.text}`);
      await accounts.signIn(String(link.body['url']), member.id);
    }
    return { [Symbol.dispose]: () => void Reflect.deleteProperty(globalThis, 'crowdMarkers') };
  }

  /** One answer in a dialect of chance, streamed or not. */
  async function ask(
    member: Member,
    wanted: [string, JsonObject][],
    extra: { turns?: Turn[]; fields?: JsonObject; own?: boolean; client?: string } = {},
  ): Promise<Asked> {
    const client = servedClients.find(({ name }) => name === extra.client) ?? pick(servedClients);
    const stream = random() < 0.5;
    const directive = JSON.stringify({ marker: member.marker, calls: wanted });
    const turns: Turn[] = [{ role: 'user', text: directive }, ...(extra.turns ?? [])];
    const own = extra.own === true ? { functions: [{ name: 'ask_client', description: 'Asks the client', parameters: marked }] } : {};
    const payload = client.write({ turns, ...own, ...(extra.fields && { fields: extra.fields }) }, stream);
    const reply = await request(member, 'POST', client.path, payload, client.headers);
    const answer = reply.status === 200 ? (stream ? client.readStream(reply.text) : client.read(reply.body)) : undefined;
    if (answer === undefined || answer.error !== undefined) fault(`${client.name}: ${reply.text}`);
    if (reply.run !== '') remember(member.runs, reply.run);
    return { reply, answer, client: client.name };
  }

  async function talk(member: Member): Promise<void> {
    const { marker } = member;
    const plans: [string, JsonObject][] = [
      ['write', { marker }],
      ['whoami', { marker }],
      ['read_post', { marker }],
      ['read_calendar', { marker }],
      ['remember', { marker }],
      ['recall', {}],
      ['about_me', {}],
      ['search_chats', { query: marker }],
    ];
    const wanted = plans.filter(() => random() < 0.4);
    const fields = { chat_id: pick(chatIds) };
    const { answer, reply } = await ask(member, wanted, { fields });
    if (answer !== undefined && !answer.text.includes(marker)) fault(`no answer of their own for ${member.id}: ${reply.text}`);
  }

  /** The client's function and one of the gateway in one round: the gateway's result is kept for the next request. */
  async function handOver(member: Member): Promise<void> {
    const { marker } = member;
    const wanted: [string, JsonObject][] = [
      ['write', { marker }],
      ['ask_client', { marker }],
    ];
    const fields = { chat_id: pick(chatIds) };
    const { answer, client } = await ask(member, wanted, { fields, own: true });
    const handed = answer?.calls.filter(({ name }) => name === 'ask_client') ?? [];
    if (handed.length !== 1) return fault(`handed over ${JSON.stringify(answer)}`);
    const results = handed.map((of: Call): Turn => ({ role: 'result', of, text: `client says ${marker}` }));
    await ask(member, wanted, { turns: [{ role: 'assistant', calls: handed }, ...results], fields, own: true, client });
  }

  async function approve(member: Member): Promise<void> {
    const { marker } = member;
    const { answer } = await ask(member, [['pay', { marker }]], { fields: { chat_id: pick(chatIds) }, client: 'chat completions' });
    const [waiting] = answer?.waiting ?? [];
    // A remembered decision of the same person and chat, which lets the call run.
    if (waiting === undefined) return answer?.text.includes(marker) === true ? undefined : fault('nothing waits');
    const { run_id: run, id: call, token } = waiting.proof as Record<string, string>;
    const decision = { token, decision: 'approve', remember: random() < 0.2 };
    const path = `/api/runs/${run}/approvals/${encodeURIComponent(call ?? '')}`;
    const other = pick([...members.values()]);
    if (other !== member) {
      const tried = await request(other, 'POST', path, decision);
      if (tried.status !== 404) report.crossings.push(`${other.id} decided for ${member.id}: ${tried.status}`);
    }
    const decided = await request(member, 'POST', path, decision);
    if (decided.status !== 200 || !decided.text.includes(marker)) fault(`approval: ${decided.text}`);
  }

  /** A call that has to wait until its person has signed in; others have the link back and the token of the wait, and try them. */
  async function signIn(member: Member): Promise<void> {
    if (member.isSigningIn === true) return talk(member);
    member.isSigningIn = true;
    const { marker } = member;
    await request(member, 'DELETE', '/api/credentials/tasks');
    const { reply } = await ask(member, [['read_tasks', { marker }]], { client: 'chat completions' });
    const connect = JSON.parse(/"connect":(\{.*?\]\s*,\s*"token":"[^"]*"\})/.exec(reply.text)?.[1] ?? '{}') as {
      run_id?: string;
      servers?: { url: string }[];
      token?: string;
    };
    const link = connect.servers?.[0]?.url;
    if (link === undefined) return fault(`no link to connect: ${reply.text}`);
    const resume = `/api/runs/${connect.run_id}/resume`;
    const early = await request(member, 'POST', resume, { token: connect.token });
    if (early.status !== 409) fault(`resumed without a sign-in: ${early.text}`);
    const { page, callback } = await accounts.signIn(link, member.id);
    check(page.body, member, 'the page after a sign-in');
    if (page.status !== 200) fault(`sign-in: ${page.text}`);
    const other = pick([...members.values()]);
    if (other !== member) {
      const again = await request(other, 'GET', callback.slice(address.length));
      const tried = await request(other, 'POST', resume, { token: connect.token });
      if (again.status < 400 || tried.status !== 404)
        report.crossings.push(`${other.id} used the sign-in of ${member.id}: ${again.status}, ${tried.status}`);
    }
    const resumed = await request(member, 'POST', resume, { token: connect.token });
    if (resumed.status !== 200 || !resumed.text.includes(marker)) fault(`after the sign-in: ${resumed.text}`);
    member.isSigningIn = false;
  }

  async function store(member: Member): Promise<void> {
    const isResponse = random() < 0.5;
    const client = isResponse ? 'responses' : 'chat completions';
    const previous = isResponse && random() < 0.5 ? member.responses.at(-1) : undefined;
    const fields = { store: true, ...(previous !== undefined && { previous_response_id: previous }) };
    const { reply } = await ask(member, [['about_me', {}]], { fields, client });
    const id = /"id":"((?:resp|chatcmpl)[^"]*)"/.exec(reply.text)?.[1];
    if (id === undefined) return fault(`nothing was stored: ${reply.text}`);
    remember(isResponse ? member.responses : member.storedChats, id);
    const own = await request(member, 'GET', isResponse ? `/v1/responses/${id}` : `/v1/chat/completions/${id}`);
    if (own.status !== 200 || !own.text.includes(member.marker)) fault(`not stored: ${own.text}`);
    await request(member, 'GET', '/v1/chat/completions?limit=20');
  }

  async function callAlone(member: Member): Promise<void> {
    const { marker } = member;
    const name = pick(['write', 'whoami', 'read_post', 'read_calendar', 'about_me', 'search_chats']);
    const args = name === 'search_chats' ? { query: marker } : { marker };
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
    const mcpHeaders = { accept: 'application/json, text/event-stream' };
    const way = pick(['invoke', 'call', 'mcp']);
    const reply =
      way === 'mcp'
        ? await request(member, 'POST', '/mcp', rpc, mcpHeaders)
        : await request(member, 'POST', `/api/tools/${name}/${way}`, way === 'invoke' ? { arguments: args } : args);
    if (reply.status !== 200) fault(`${way} ${name}: ${reply.text}`);
    if (name !== 'search_chats' && !reply.text.includes(marker)) fault(`${way} ${name} gave nothing of ${member.id}: ${reply.text}`);
  }

  /** Everything of another person, by its id. */
  async function pry(member: Member): Promise<void> {
    const other = pick([...members.values()]);
    if (other === member) return;
    const [run, chat, response] = [other.runs.at(-1), other.storedChats.at(-1), other.responses.at(-1)];
    const tries: ['GET' | 'POST' | 'DELETE', string, object?][] = [
      ...(run === undefined
        ? []
        : ([
            ['GET', `/api/runs/${run}`],
            ['POST', `/api/runs/${run}/cancel`],
          ] as ['GET' | 'POST', string][])),
      ...(chat === undefined
        ? []
        : ([
            ['GET', `/v1/chat/completions/${chat}`],
            ['GET', `/v1/chat/completions/${chat}/messages`],
            ['DELETE', `/v1/chat/completions/${chat}`],
          ] as ['GET' | 'DELETE', string][])),
      ...(response === undefined
        ? []
        : ([
            ['GET', `/v1/responses/${response}`],
            ['DELETE', `/v1/responses/${response}`],
          ] as ['GET' | 'DELETE', string][])),
    ];
    for (const [method, url, payload] of tries) {
      const { status } = await request(member, method, url, payload);
      if (status !== 404) report.crossings.push(`${member.id}: ${method} ${url} of ${other.id} is ${status}`);
    }
    if (response !== undefined) {
      const built = await request(member, 'POST', '/v1/responses', { model: 'model', input: 'And?', previous_response_id: response });
      if (built.status < 400) report.crossings.push(`${member.id} built on a response of ${other.id}`);
    }
    const listed = await request(member, 'GET', '/api/runs?limit=200');
    const known = new Set([...members.values()].filter((each) => each !== member).flatMap(({ runs }) => runs));
    for (const { id } of listed.body['data'] as { id: string }[])
      if (known.has(id)) report.crossings.push(`${member.id} lists a run of another`);
    await request(member, 'GET', '/api/usage?by=tool');
    await request(member, 'GET', '/api/credentials');
  }

  /** A function that only this person's browser can run, in a chat over HTTP; another's session is as good as none. */
  async function inBrowser(member: Member): Promise<void> {
    const owner = random() < 0.3 ? pick([...members.values()].filter(({ session }) => session !== undefined)) : member;
    if (owner.session === undefined) return talk(member);
    const specs = [{ name: 'page_secret', description: 'Only the page knows', parameters: marked }];
    const tool_servers = [{ url: 'http://page.test', specs }];
    const fields = { session_id: owner.session, tool_servers };
    const { answer } = await ask(member, [['page_secret', { marker: member.marker }]], { fields });
    if (owner !== member && answer?.text.includes(`page ${owner.marker}`) === true)
      report.crossings.push(`${member.id} used the browser of ${owner.id}`);
    if (owner === member && answer?.text.includes(`page ${member.marker}`) !== true)
      fault(`the browser of ${member.id} did not run: ${answer?.text}`);
  }

  using _markers = await makeMembers();
  const clients = [...members.values()].slice(0, browsers).map((member) => {
    const page_secret = (params: { marker?: string }): string => {
      check(JSON.stringify(params), member, 'the browser');
      return `page ${member.marker}`;
    };
    const client = connect({
      url: address,
      token: member.key,
      user: member.id,
      functions: { page_secret },
      onFrame: (frame) => check(JSON.stringify(frame), member, 'a frame'),
    });
    return { member, client };
  });
  for (const { member, client } of clients) member.session = await client.ready();

  const kinds = { talk, handOver, approve, signIn, store, callAlone, pry, ...(browsers > 0 && { inBrowser }) };
  const names = Object.keys(kinds) as (keyof typeof kinds)[];
  let left = chats;
  async function work(): Promise<void> {
    while (left > 0) {
      left -= 1;
      const name = random() < 0.3 ? 'talk' : pick(names);
      report.kinds[name] = (report.kinds[name] ?? 0) + 1;
      report.chats += 1;
      await kinds[name]?.(name === 'inBrowser' ? pick([...members.values()].slice(0, browsers)) : pick([...members.values()]));
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));
  for (const { client } of clients) client.close();
  report.refreshed = accounts.refreshed();
  return report;
}

interface Reply {
  status: number;
  text: string;
  body: JsonObject;
  run: string;
}

interface Asked {
  reply: Reply;
  answer: Omit<Answer, 'status'> | undefined;
  client: string;
}

function remember(ids: string[], id: string): void {
  ids.push(id);
  if (ids.length > maxTried) ids.shift();
}

/** Does what the last message of the user says, then tells what came of it. Whatever it reads belongs to one person. */
function crowdModel(
  check: (text: string, member: Pick<Member, 'marker' | 'id'>, where: string) => void,
  members: ReadonlyMap<string, Member>,
): ModelBackend {
  async function* events({ messages }: ModelRequest): AsyncGenerator<ModelEvent, void> {
    const asked = messages.findLastIndex(({ role, content }) => role === 'user' && textOf(content).startsWith('{'));
    const directive =
      asked === -1 ? {} : (JSON.parse(textOf(messages[asked]?.content ?? '{}')) as { marker?: string; calls?: [string, JsonObject][] });
    const member = members.get(directive.marker ?? '');
    if (member !== undefined) check(JSON.stringify(messages), member, 'the model');
    const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
    const wanted = directive.calls ?? [];
    const steps =
      results.length === 0 && wanted.length > 0
        ? calls(...wanted)
        : says(`${directive.marker} has ${results.map(({ content }) => textOf(content)).join('; ')}`);
    yield* steps as ModelEvent[];
  }
  return generatedBy(events);
}

/** An MCP server without sessions: the account behind the key is the one that its function speaks of. */
async function answerMcp(
  request: OutboundRequest,
  answer: (request: OutboundRequest) => Promise<OutboundResponse>,
): Promise<OutboundResponse> {
  if (request.method !== 'POST') return jsonResponse({}, 405);
  const message = JSON.parse(bodyOf(request)) as { id?: number; method: string };
  if (message.id === undefined) return jsonResponse({}, 202);
  const reply = (result: JsonObject): OutboundResponse => jsonResponse({ jsonrpc: '2.0', id: message.id ?? null, result });
  const serverInfo = { name: 'post', version: '1' };
  if (message.method === 'initialize') return reply({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo });
  if (message.method === 'tools/list') return reply({ tools: [{ name: 'read_post', description: 'Reads the post', inputSchema: marked }] });
  if (message.method !== 'tools/call')
    return jsonResponse({ jsonrpc: '2.0', id: message.id, error: { code: -32_601, message: 'No such method' } });
  const said = await answer(request);
  const chunks: Uint8Array[] = [];
  for await (const chunk of said.body) chunks.push(chunk);
  return reply({ content: [{ type: 'text', text: Buffer.concat(chunks).toString() }] });
}

function bodyOf({ body }: OutboundRequest): string {
  return body === undefined
    ? ''
    : typeof body === 'string'
      ? body
      : isJsonObject(body)
        ? JSON.stringify(body)
        : Buffer.from(body as Uint8Array).toString();
}

/** Mulberry32: small, fast, and the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
