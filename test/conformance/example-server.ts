import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { buffer } from 'node:stream/consumers';
import { createMcpHandler, ResourceNotFoundError, Server } from '@modelcontextprotocol/server';
import type { ServerNotifier, Tool } from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import { noInput, prompts, resources, tools } from './example-tools.ts';

/** What the tools that change the lists have changed. */
interface ChangedLists {
  hasFurtherTool: boolean;
  hasFurtherPrompt: boolean;
  notify: () => ServerNotifier;
}

const changes: Readonly<Record<string, (lists: ChangedLists) => void>> = {
  test_trigger_tool_change(lists) {
    lists.hasFurtherTool = !lists.hasFurtherTool;
    lists.notify().toolsChanged();
  },
  test_trigger_prompt_change(lists) {
    lists.hasFurtherPrompt = !lists.hasFurtherPrompt;
    lists.notify().promptsChanged();
  },
};

/** An MCP server with what the scenarios of the conformance suites name, by the SDK. It asks in both eras by `input_required`. */
function serverOf(lists: ChangedLists): Server {
  const server = new Server(
    { name: 'example', version: '1' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true },
        prompts: { listChanged: true },
        completions: {},
        logging: {},
      },
    },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: [
      ...Object.entries(tools).map(([name, { inputSchema = noInput }]) => toolOf(name, inputSchema)),
      ...Object.keys(changes).map((name) => toolOf(name)),
      ...(lists.hasFurtherTool ? [toolOf('test_further_tool')] : []),
    ],
  }));
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const change = changes[params.name];
    if (change !== undefined) {
      change(lists);
      return { content: [{ type: 'text', text: 'The list has changed.' }] };
    }
    const tool = tools[params.name];
    if (tool === undefined) throw new Error(`There is no tool ${params.name}.`);
    return tool.call(params.arguments ?? {}, context, server.getClientCapabilities());
  });
  server.setRequestHandler('prompts/list', () => ({
    prompts: [
      ...Object.entries(prompts).map(([name, { args }]) => ({
        name,
        description: name,
        arguments: args.map((arg) => ({ name: arg, description: arg, required: true })),
      })),
      ...(lists.hasFurtherPrompt ? [{ name: 'test_further_prompt', description: 'There since a change.' }] : []),
    ],
  }));
  server.setRequestHandler('prompts/get', ({ params }, context) => {
    const prompt = prompts[params.name];
    if (prompt === undefined) throw new Error(`There is no prompt ${params.name}.`);
    return prompt.get(params.arguments ?? {}, context);
  });
  server.setRequestHandler('resources/list', () => ({ resources: resources.map(({ uri, name, mimeType }) => ({ uri, name, mimeType })) }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' }],
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    if (id !== undefined) {
      const value = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
      return { contents: [{ uri, mimeType: 'application/json', text: value }] };
    }
    const found = resources.find((resource) => resource.uri === uri);
    if (found === undefined) throw new ResourceNotFoundError(uri);
    const { name: _name, ...content } = found;
    return { contents: [content] };
  });
  server.setRequestHandler('completion/complete', () => ({ completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false } }));
  return server;
}

function toolOf(name: string, inputSchema = noInput): Tool {
  return { name, description: `What the scenario about ${name} asks for.`, inputSchema };
}

/** On a port of this machine until the test has ended. Gives the address of its endpoint. */
export async function startExampleServer(): Promise<string> {
  const lists: ChangedLists = { hasFurtherTool: false, hasFurtherPrompt: false, notify: () => handler.notify };
  const handler = createMcpHandler(() => serverOf(lists));
  const http = createServer((request, response) => {
    void (async () => {
      const body = await buffer(request);
      const { method = 'GET', headers } = request;
      const answer = await handler.fetch(
        new Request(new URL(request.url ?? '', 'http://127.0.0.1'), {
          method,
          headers: headers as Record<string, string>,
          ...(body.length > 0 && { body: new Uint8Array(body) }),
        }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.flushHeaders();
      if (answer.body !== null) await Readable.fromWeb(answer.body as ReadableStream).forEach((piece) => void response.write(piece));
      response.end();
    })();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}
