import { randomUUID } from 'node:crypto';
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject } from '../../src/shared/json/json.ts';
import { scriptedBrowser } from '../_support/scripted-browser.ts';

/** A gateway that is told to use the MCP servers of the suite's client scenarios. */
export interface DrivenGateway {
  url: string;
  /** Its `PUBLIC_URL`, which leads nowhere else. */
  publicUrl: string;
  adminKey: string;
}

/** What the suite tells the program that it starts for each scenario. */
export interface StartedScenario {
  name: string;
  /** Of the MCP server of the scenario. */
  serverUrl: string;
  context: { client_id?: string; client_secret?: string; private_key_pem?: string; toolCalls?: { name: string; arguments: JsonObject }[] };
}

/**
 * Registers the scenario's server at the gateway, makes a key for it, and calls its functions over `/mcp`, as an MCP client with a person does: it answers
 * questions, and follows links to connect. Gives what happened.
 * @throws if a sign-in fails
 */
export async function driveGateway(
  { url, publicUrl, adminKey }: DrivenGateway,
  { name, serverUrl, context }: StartedScenario,
): Promise<string> {
  async function call(route: string, payload?: JsonObject): Promise<JsonObject> {
    const [method = '', path = ''] = route.split(' ');
    const headers = { 'x-api-key': adminKey, ...(payload !== undefined && { 'content-type': 'application/json' }) };
    const answer = await fetch(`${url}${path}`, { method, headers, ...(payload !== undefined && { body: JSON.stringify(payload) }) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${route}: ${answer.status} ${text}`);
    const body: unknown = text === '' ? {} : JSON.parse(text);
    return isJsonObject(body) ? body : {};
  }

  const id = `${name.replaceAll(/[^a-z0-9]+/g, '-')}-${randomUUID().slice(0, 8)}`;
  await call('POST /api/tool-servers', { id, type: 'mcp', url: serverUrl, ...authOf(name, context), config: { default: false } });
  try {
    // Waits for the server: fifty of them are registered at the same time, and lists do without those that take longer than two seconds.
    await call(`POST /api/tool-servers/${id}/refresh`);
    const { key } = (await call('POST /api/keys', { name: id, role: 'user', tools: [`server:${id}`] })) as { key: string };
    return await callAll({ url, publicUrl, key }, context);
  } finally {
    // Ends the connections of the gateway, for which the server of the scenario would wait.
    await call(`DELETE /api/tool-servers/${id}`);
  }
}

function authOf(
  name: string,
  { client_id: clientId, private_key_pem: key, client_secret: clientSecret = key }: StartedScenario['context'],
): JsonObject {
  if (!name.startsWith('auth/')) return {};
  const oauth = {
    ...(clientId !== undefined && { client_id: clientId }),
    ...(clientSecret !== undefined && { client_secret: clientSecret }),
    ...(name.includes('client-credentials') && { grant: 'client_credentials' }),
  };
  return { auth_type: 'oauth', ...(Object.keys(oauth).length > 0 && { oauth }) };
}

async function callAll(
  { url, publicUrl, key }: Pick<DrivenGateway, 'url' | 'publicUrl'> & { key: string },
  { toolCalls }: StartedScenario['context'],
): Promise<string> {
  const client = new Client({ name: 'driver', version: '1' }, { capabilities: { elicitation: { form: {}, url: {} } } });
  const browser = scriptedBrowser({ at: { [publicUrl]: url } });
  const happened: string[] = [];
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    if (params.mode !== 'url') return { action: 'accept', content: {} };
    const page = await browser.submit(await browser.open(params.url), { own: key });
    happened.push(`${page.status} ${page.text}`);
    return { action: page.status === 200 ? 'accept' : 'cancel' };
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: { 'x-api-key': key } } }));
  /** Connecting may replace the function that connects by those of the server. */
  const called = new Set<string>();
  try {
    for (;;) {
      const { tools } = await client.listTools();
      const calls = toolCalls ?? tools.map((tool) => ({ name: tool.name, arguments: sampleOf(tool, tools) }));
      const next = calls.filter(({ name }) => !called.has(name));
      if (next.length === 0) return happened.join('\n');
      for (const { name, arguments: args } of next) {
        called.add(name);
        happened.push(`${name} ${JSON.stringify(await client.callTool({ name, arguments: args }))}`);
      }
    }
  } finally {
    await client.close();
  }
}

/** A value for each required argument. For one that is called `schema` that is what the gateway lists as the schema of another tool. */
function sampleOf({ name: own, inputSchema }: Tool, tools: readonly Tool[]): JsonObject {
  const { properties = {}, required = [] } = inputSchema as { properties?: Record<string, JsonObject>; required?: string[] };
  const samples: Record<string, JsonObject[string]> = { number: 1, integer: 1, boolean: true, object: {}, array: [] };
  const listed = { schema: tools.find(({ name }) => name !== own)?.inputSchema as JsonObject | undefined };
  return Object.fromEntries(
    required.map((name) => [
      name,
      (name === 'schema' ? listed.schema : undefined) ?? samples[String(properties[name]?.['type'])] ?? 'sample',
    ]),
  );
}
