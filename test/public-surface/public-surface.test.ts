import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { settings } from '../../src/app/config/config.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import * as packageEntry from '../../src/package-entry.ts';
import { listen, readChunks, testApp } from '../_support/build-app.ts';
import type { TestApp } from '../_support/build-app.ts';
import { connectFakeBrowser } from '../_support/fake-browser.ts';
import { calls } from '../_support/scripted-model.ts';
import type { ScriptStep } from '../_support/scripted-model.ts';
import { answerOf, documentOf, gatewayOf, serverOf } from '../gateway/gateway.ts';
import { withoutComments } from '../_support/read-source.ts';

/**
 * What clients, operators and authors of functions rely on, listed in the files beside this one. Whoever adds or removes a member changes its
 * file too (`npx vitest run test/public-surface -u`), and has to say so in the changelog.
 */
const root = new URL('../../', import.meta.url);
// The console reads what the others say.
const files = globSync('src/**/*.{ts,js}', { cwd: root, exclude: ['src/console/**'] }).map((path) => ({
  path,
  source: withoutComments(readFileSync(new URL(path, root), 'utf8')),
}));
const everything = files.map(({ source }) => source).join('\n');

const expectMembers = (file: string, lines: readonly string[]): Promise<void> => {
  expect(lines.length).toBeGreaterThan(2);
  return expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`./${file}.txt`);
};
const sorted = (values: Iterable<string>): string[] => [...new Set(values)].toSorted();
/** The first group of every match in the whole source. */
const scan = (pattern: RegExp): string[] => [...everything.matchAll(pattern)].map(([, first = '']) => first);

/** The texts in the declaration of a union, wherever it stands. */
function unionOf(type: string): string[] {
  const [declaration, ...others] = scan(new RegExp(`^(?:export )?type ${type} =([^;]*);`, 'gm'));
  if (declaration === undefined || others.length > 0)
    throw new Error(`The type ${type} is declared ${others.length + 1} times, or not at all`);
  return textsIn(declaration);
}

function textsIn(code: string): string[] {
  return [...code.matchAll(/'([^'\n]+)'/g)].map(([, text = '']) => text);
}

describe('the public surface', () => {
  it('routes: who may call them, and whether they count against the limits of a key', async () => {
    await using app = await testApp({ TOOLWHARF_ADMIN_KEY: adminKey, CORS_ALLOW_ORIGIN: 'http://page.test' }, { backends: [] });
    await using openApp = await testApp({ CORS_ALLOW_ORIGIN: 'http://page.test' }, { backends: [], showsStartKey: false });
    const user = await exhaustedKey(app);
    const lines: string[] = [];
    for (const { method, url } of routesOf(app)) {
      const call = { method, url: url.replaceAll(/:\w+|\*/g, 'x'), ...(method === 'POST' && { payload: callOfTool }) };
      const statusOf = async (server: TestApp['server'], headers: Record<string, string>): Promise<number> => {
        const answer = await server.inject({ ...call, headers });
        return answer.statusCode;
      };
      const none = await statusOf(app.server, {});
      const asUser = await statusOf(app.server, { authorization: `Bearer ${user}` });
      const inOpenMode = await statusOf(openApp.server, {});
      const asAdmin = asUser === 403 ? await statusOf(app.server, { authorization: `Bearer ${adminKey}` }) : undefined;
      const who = none !== 401 ? 'everybody' : asAdmin === 403 ? 'nobody' : asUser === 403 ? 'administrators' : 'users';
      const open = who !== 'nobody' && (inOpenMode === 401 || inOpenMode === 403) ? 'key even in open mode' : '';
      lines.push([`${method} ${url}`.padEnd(50), who.padEnd(15), open, asUser === 429 ? 'counted' : ''].join(' ').trimEnd());
    }
    await expectMembers('routes', lines);
  });

  it('settings: variables with their defaults, and the keys of toolwharf.yaml beside them', async () => {
    const [sections = ''] = scan(/^export const sections = \[([^\]]*)\]/gm);
    await expectMembers('settings', [
      ...settings.map((setting) => `${setting.name} = ${setting.default}`),
      ...[...sections.matchAll(/'(\w+)'/g)].map(([, name]) => `toolwharf.yaml: ${name}`),
    ]);
  });

  it('fields of everything that a schema checks: the configuration file, bodies, frames, records', async () => {
    // What replicas of a gateway say to each other is nobody else's; descriptions of answers check nothing.
    const others = /^src\/(?:relay|http\/description)\/|-description\.ts$/;
    const shown = files.filter(({ path, source }) => !others.test(path) && source.includes("from 'zod'"));
    await expectMembers('checked-fields', sorted(shown.flatMap(({ source }) => fieldsOf(source))));
  });

  it('error codes with their status, codes of tool errors, and codes of warnings', async () => {
    const [table = ''] = scan(/^const errorTable = \{([\s\S]*?)^\}/gm);
    const codes = [...table.matchAll(/(\w+): \{ status: (\d+), type: '(\w+)' \}/g)].map(
      ([, code, status, type]) => `${status} ${code} (${type})`,
    );
    const ofEvents = [
      ...scan(/type: 'warning', (?:time: [\w.]+, )?data: \{ code: '(\w+)'/g),
      ...scan(/\bleftOut\w*\(\s*(?:\w+,\s*)?'([a-z_]+)'/g),
      ...scan(/'(tool_server_[a-z]+)'/g),
      ...scan(/\{\s*code: '(\w+_\w+)',\s*message\b/g),
    ];
    expect(codes.length).toBeGreaterThan(30);
    await expectMembers('codes', [
      ...sorted(codes).map((line) => `error: ${line}`),
      ...sorted(unionOf('ToolErrorCode')).map((code) => `tool error: ${code}`),
      ...sorted(ofEvents).map((code) => `event: ${code}`),
    ]);
  });

  it('events of a run, frames of the socket, states of a run, reasons to finish', async () => {
    const frames = files
      .filter(({ path }) => /socket|session/.test(path))
      .flatMap(({ source }) => [
        ...source.matchAll(/(?:\bflatFrame\(\s*|(?:\bsend\(|\breturn |\(\), )\{ type: )'([\w:]+)', (?:\{|data\b)/g),
      ])
      .map(([, type = '']) => type);
    // Elicitations are sent under their own types, and each request is cancelled by its type.
    const [questions = ''] = scan(/^export interface ElicitationRequest \{\s*type: ([^;]*);/gm);
    const requests = ['execute:tool', ...textsIn(questions)];
    const cancellations = everything.includes('type: `${type}:cancel`') ? requests.map((type) => `${type}:cancel`) : [];
    await using app = await testApp({}, { backends: [] });
    const browser = await connectFakeBrowser({ url: await listen(app) });
    browser.send({ type: '?' });
    const refusal = await browser.next('error');
    await browser.close();
    const [, known = ''] = /Known: (.*)\.$/.exec(String(refusal.data['message'])) ?? [];
    await expectMembers('events-and-frames', [
      ...unionOf('EventType').map((type) => `event: ${type}`),
      ...unionOf('RunStatus').map((status) => `run status: ${status}`),
      ...unionOf('FinishReason').map((reason) => `finish reason: ${reason}`),
      ...known.split(', ').map((type) => `frame from a browser: ${type}`),
      ...sorted([...frames, ...requests, ...cancellations]).map((type) => `frame to a browser: ${type}`),
    ]);
  });

  it('names of fields in streams, completions, frames and the log of a run', async () => {
    const post = { type: 'object', properties: { text: { type: 'string' } } };
    const servers = [
      serverOf('notes', documentOf({ add_note: post })),
      serverOf('mail', documentOf({ send_mail: post }), { extra: { config: { needs_approval: true } } }),
    ];
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    const turns = (): ScriptStep[][] => [
      [{ type: 'reasoning', text: 'Hm.' }, { type: 'usage', usage }, ...calls(['add_note', { text: 'x' }])],
      calls(['send_mail', { text: 'x' }]),
    ];
    const calling = (): ScriptStep[][] => [calls(['caller_function', {}])];
    const tools = [{ type: 'function', function: { name: 'caller_function', parameters: { type: 'object' } } }];
    const toolServers = [{ url: 'http://127.0.0.1:9' }];
    await using gateway = await gatewayOf({
      turns: [...turns(), ...calling(), ...turns(), ...calling()],
      servers,
      answers: { 'http://notes.test/add_note': answerOf('{"id":1}') },
    });
    const paths = new Set<string>();
    const add = (name: string, value: unknown): void => pathsIn(value).forEach((path) => paths.add(`${name}${path}`));
    const ask = async (body: JsonObject): Promise<void> => {
      const { raw } = await gateway.ask({ tool_servers: toolServers, ...body });
      if (body['stream'] === false) return add('completion', JSON.parse(raw));
      for (const chunk of readChunks(raw)) add('chunk', chunk);
    };
    await ask({});
    await ask({ tools });
    await ask({ stream: false });
    await ask({ stream: false, tools });
    const runs = (await gateway.get('/api/runs')).json<{ data: { id: string }[] }>();
    add('runs', runs);
    for (const { id } of runs.data) add('run', (await gateway.get(`/api/runs/${id}`)).json());
    await expectMembers('fields', sorted(paths));
  });

  it('commands with their options, and what a module imports from the package', async () => {
    const command = files.find(({ path }) => path === 'src/toolwharf.js')?.source ?? '';
    const [, table = ''] = /^const commands = \{([\s\S]*?)^\}/m.exec(command) ?? [];
    const options = scan(/\boptions: (\{ \w+: \{[^}]*\}[^}]*\})/g).flatMap((text) =>
      [...text.matchAll(/(\w+): \{/g)].map(([, name]) => `--${name}`),
    );
    const entry = files.find(({ path }) => path === 'src/package-entry.ts')?.source ?? '';
    const types = [...entry.matchAll(/^export type \{([^}]*)\}/gm)].flatMap(([, names = '']) => names.match(/\w+/g) ?? []);
    await expectMembers('commands-and-exports', [
      ...[...table.matchAll(/^ {2}'?([\w-]+)'?:/gm)].map(([, name]) => `command: ${name}`),
      ...sorted([...textsIn(command).filter((text) => /^--?\w+$/.test(text)), ...options]).map((option) => `option: ${option}`),
      ...sorted(Object.keys(packageEntry)).map((name) => `export: ${name}`),
      ...sorted(types).map((name) => `type: ${name}`),
    ]);
  });
});

const adminKey = 'sk-tw-fixed-administrator';
/** For `POST /mcp`; to every other route it is a body that it refuses. */
const callOfTool = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } };

/** A user's key with which one request a minute may be made, and this one was. */
async function exhaustedKey({ server }: TestApp): Promise<string> {
  const body = { name: 'user', role: 'user', limits: { requests_per_minute: 1 } };
  const answer = await server.inject({ method: 'POST', url: '/api/keys', headers: { authorization: `Bearer ${adminKey}` }, payload: body });
  const { key } = answer.json<{ key: string }>();
  await server.inject({ method: 'POST', url: '/v1/chat/completions', headers: { authorization: `Bearer ${key}` }, payload: {} });
  return key;
}

/** Read from Fastify's own tree, so that nothing that is registered is missing. */
function routesOf({ server }: TestApp): { method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'; url: string }[] {
  const parents: string[] = [];
  return server
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', segment = '', methods = ''] = /^([│ ]*)[├└]── (\S+) \(([A-Z, ]+)\)$/.exec(line) ?? [];
      if (segment === '') return [];
      const depth = indent.length / 4;
      const parent = depth === 0 ? '' : (parents[depth - 1] ?? '');
      const url = `${parent}${segment === '*' && parent !== '' ? '/' : ''}${segment}`;
      parents[depth] = url;
      return methods
        .split(', ')
        .filter((method) => method !== 'HEAD')
        .map((method) => ({ method: method as 'GET', url }));
    })
    .toSorted((left, right) => left.url.localeCompare(right.url));
}

/** The keys of all zod objects in the sources: what stands within the outermost braces of each, before a colon or a comma. */
function fieldsOf(source: string): string[] {
  return [...source.matchAll(/\.(?:(?:strictO|looseO|o)bject|extend)\(\s*\{/g)].flatMap(({ index, 0: opening }) => {
    const fields: string[] = [];
    const start = index + opening.length - 1;
    let depth = -1;
    for (const { 0: token, 1: name, 2: quoted } of source
      .slice(start)
      .matchAll(/[([{]|[)\]}]|(?<=[{,]\s*)(?:(\w+)|'([^']+)')(?=\s*[:,}])/g)) {
      if (depth === 0 && (name ?? quoted) !== undefined) fields.push(name ?? quoted ?? '');
      if ('([{'.includes(token)) depth += 1;
      if (')]}'.includes(token)) depth -= 1;
      if (depth < 0) break;
    }
    return fields;
  });
}

/** The paths of all fields. An event stands for its type; what a tool was given and what it gave is its own. */
function pathsIn(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => pathsIn(entry, `${path}[]`));
  if (typeof value !== 'object' || value === null || /\.(?:args|arguments|parameters|response)$/.test(path)) return [path];
  const { type } = value as { type?: unknown };
  const own = typeof type === 'string' && 'data' in value ? `${path}<${type}>` : path;
  return Object.entries(value).flatMap(([key, entry]) => pathsIn(entry, `${own}.${key}`));
}
