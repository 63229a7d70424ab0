import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { answers } from './answer-markdown.ts';
import type { Turn } from './answer-markdown.ts';

export interface ConsoleBackend {
  url: string;
  close(): void;
}

interface Body {
  messages: { role: string; content?: string | { text?: string }[] }[];
  tools?: { function: { name: string } }[];
}

/** Pieces are written in this rhythm: a thousand a second, faster than most models are. */
const gapMs = 1;
/** A result of usual size. */
const harbour = {
  items: Array.from({ length: 40 }, (_, id) => ({ id, name: `Ship ${id}`, draught: id / 3, remark: 'moored since noon' })),
};
/** As large as the gateway takes a result. */
const largeResult = (): string =>
  JSON.stringify({ items: Array.from({ length: 21_000 }, (_, id) => ({ id, name: 'n'.repeat(160), deep: [[[id]]] })) });

const document = {
  openapi: '3.1.0',
  info: { title: 'Harbour', version: '1' },
  paths: Object.fromEntries(
    ['harbour', 'everything'].map((name) => [
      `/${name}`,
      {
        get: {
          operationId: name,
          summary: `Ships of the ${name}`,
          parameters: [{ name: 'berth', in: 'query', schema: { type: 'string' } }],
          responses: { 200: { description: 'ships', content: { 'application/json': {} } } },
        },
      },
    ]),
  ),
};

/** A backend that speaks OpenAI's API and gives the answer of `answers` that the question names, and a tool server for its calls. */
export async function startConsoleBackend(): Promise<ConsoleBackend> {
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    if (url === '/openapi.json') return sendJson(response, JSON.stringify(document));
    if (url.startsWith('/everything')) return sendJson(response, largeResult());
    if (url.startsWith('/harbour')) return sendJson(response, JSON.stringify(harbour));
    if (request.method === 'GET') return sendJson(response, JSON.stringify({ object: 'list', data: [{ id: 'mock', object: 'model' }] }));
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => void answer(JSON.parse(Buffer.concat(pieces).toString()) as Body, response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function sendJson(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}

async function answer({ messages, tools = [] }: Body, response: ServerResponse): Promise<void> {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const content = messages[at]?.content ?? '';
  const question = typeof content === 'string' ? content : (content[0]?.text ?? '');
  const turn = messages.slice(at).filter(({ role }) => role === 'assistant').length;
  const name = question.split(' #', 1)[0] ?? '';
  const { reasoning = [], text, calls = 0 } = turnsOf(name)[turn] ?? { text: ['There is no such answer.'] };
  const functionName = tools.find((tool) => tool.function.name.includes(name === largeResultQuestion ? 'everything' : 'harbour'))?.function
    .name;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const write = (delta: object, reason: string | null = null): void => {
    const chunk = {
      id: 'c',
      object: 'chat.completion.chunk',
      created: 0,
      model: 'mock',
      choices: [{ index: 0, delta, finish_reason: reason }],
    };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  const began = performance.now();
  let written = 0;
  for (const delta of [...reasoning.map((reasoning_content) => ({ reasoning_content })), ...text.map((piece) => ({ content: piece }))]) {
    if (response.destroyed) return;
    write(delta);
    written += 1;
    const early = began + written * gapMs - performance.now();
    if (early > 0) await pause(early);
  }
  for (let index = 0; index < calls; index += 1) {
    const args = JSON.stringify({ berth: `${turn}-${index}` });
    write({
      tool_calls: [{ index, id: `call_${turn}_${index}`, type: 'function', function: { name: functionName ?? 'none', arguments: args } }],
    });
  }
  write({}, calls > 0 ? 'tool_calls' : 'stop');
  response.end('data: [DONE]\n\n');
}

export const largeResultQuestion = 'a result of 4 MiB';

function turnsOf(name: string): Turn[] {
  if (name === largeResultQuestion) return [{ text: ['I look.'], calls: 1 }, { text: ['There are many.'] }];
  return answers[name]?.() ?? [];
}
