import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { answerText, chunkText } from './answer-text.ts';
import type { AnswerPlan } from './answer-text.ts';

/** `response_format` is there when tools are selected by a prompt. */
interface ChatBody {
  messages: { content: string }[];
  stream?: boolean;
  response_format?: object;
}

/** A backend that speaks OpenAI's API and does what the user's message says. It selects no tool. One write for every chunk, each in a turn of its own. */
const head = { id: 'chatcmpl-mock', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'mock' };
const usage = { prompt_tokens: 12, completion_tokens: 50, total_tokens: 62 };
const ending = `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`;

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    sendJson(response, { object: 'list', data: [{ id: 'mock', object: 'model', created: 0, owned_by: 'mock' }] });
    return;
  }
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(pieces).toString()) as ChatBody;
    if (body.response_format !== undefined) return answerSelection(response);
    const plan = JSON.parse(body.messages.at(-1)?.content ?? '') as AnswerPlan;
    if (body.stream !== true) answerWhole(response, plan);
    else if (plan.gapMs === 0) void answerAtOnce(response, plan);
    else answerPaced(response, plan);
  });
});
server.keepAliveTimeout = 60_000;
server.listen({ host: '127.0.0.1', port: 0, backlog: 2_048 }, () => {
  process.stdout.write(`listening ${(server.address() as AddressInfo).port}\n`);
});

function sendJson(response: ServerResponse, value: object): void {
  const text = JSON.stringify(value);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
}

function answerWhole(response: ServerResponse, plan: AnswerPlan): void {
  const message = { role: 'assistant', content: answerText(plan) };
  sendJson(response, { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
}

function answerSelection(response: ServerResponse): void {
  const message = { role: 'assistant', content: '{"tool_calls":[]}' };
  sendJson(response, { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
}

function eventOf(plan: AnswerPlan, position: number): string {
  const delta = position === 0 ? { role: 'assistant', content: chunkText(plan, 0) } : { content: chunkText(plan, position) };
  return `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
}

function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
}

function closeStream(response: ServerResponse): void {
  response.write(ending);
  response.end('data: [DONE]\n\n');
}

async function answerAtOnce(response: ServerResponse, plan: AnswerPlan): Promise<void> {
  openStream(response);
  for (let position = 0; position < plan.chunks && !response.destroyed; position += 1) {
    response.write(eventOf(plan, position));
    await nextTurn();
  }
  closeStream(response);
}

function answerPaced(response: ServerResponse, plan: AnswerPlan): void {
  openStream(response);
  let position = 0;
  const timer = setInterval(() => {
    if (position < plan.chunks) {
      response.write(eventOf(plan, position));
      position += 1;
      return;
    }
    clearInterval(timer);
    closeStream(response);
  }, plan.gapMs);
  response.once('close', () => clearInterval(timer));
}
