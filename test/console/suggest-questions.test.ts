import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { suggestQuestions } from '../../src/console/pages/chat/start/suggest-questions.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import type { FreshGateway } from '../_support/fresh-gateway.ts';

type Tools = Parameters<typeof suggestQuestions>[0];

const libraryPaths = {
  '/delete-all': { post: { operationId: 'delete_all', description: 'Deletes all books', responses: { 200: { description: 'Done' } } } },
  '/books/{id}': {
    get: {
      operationId: 'get_book',
      description: 'Gets one book',
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      responses: { 200: { description: 'The book' } },
    },
  },
  '/loans': {
    get: {
      operationId: 'overdue_loans',
      description: 'Fetches overdue loans. Takes a while.',
      responses: { 200: { description: 'Loans' } },
    },
  },
  '/hours': {
    get: { operationId: 'hours', description: 'Returns the opening hours of this week', responses: { 200: { description: 'Hours' } } },
  },
  '/odd': { get: { operationId: 'odd', description: 'Lists <b>odd</b> https://x.example', responses: { 200: { description: 'Odd' } } } },
};
const library = { openapi: '3.1.0', info: { title: 'Library', version: '1' }, paths: libraryPaths };

let gateway: FreshGateway;
let stop: (() => void) | undefined;
let taskList: string;

async function send(path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json', 'x-api-key': gateway.app.startKey ?? '' };
  const response = await fetch(gateway.url + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
  expect(response.ok).toBe(true);
  return (await response.json()) as Record<string, unknown>;
}

const toolsOf = async (): Promise<Tools> => (await send('/api/tools'))['data'] as Tools;

beforeAll(async () => {
  gateway = await freshGateway();
  const tasks = spawn(process.execPath, ['docs/examples/task-list.js', '0']);
  stop = () => tasks.kill();
  const [said] = (await once(tasks.stdout.setEncoding('utf8'), 'data')) as [string];
  taskList = /http:\S+/.exec(said)?.[0] ?? '';
});
afterAll(async () => {
  stop?.();
  await gateway[Symbol.asyncDispose]();
});

/** The functions that the demo model called for a question, and its answer. */
async function answerOf(question: string): Promise<{ calls: string[]; text: string }> {
  const { choices, sources = [] } = (await send('/v1/chat/completions', {
    model: 'demo',
    messages: [{ role: 'user', content: question }],
  })) as {
    choices: { message: { content: string } }[];
    sources?: { source: { name: string } }[];
  };
  return { calls: sources.map(({ source }) => source.name), text: choices[0]?.message.content ?? '' };
}

describe('the suggested questions', () => {
  it('are answered by the tools that they come from, and rightly', async () => {
    const ofClock = suggestQuestions(await toolsOf());
    expect(ofClock).toEqual(['What time is it in Osaka?', 'How many hours from yesterday at noon until now?', 'What can you do for me?']);
    const noon = new Date();
    noon.setUTCHours(12, 0, 0, 0);
    const hours = (Date.now() - noon.getTime()) / 3_600_000 + 24;
    const { text } = await answerOf(ofClock[1] ?? '');
    expect(Number(/elapsed = (-?[\d.]+)/.exec(text)?.[1])).toBeCloseTo(hours, 0);
    expect((await answerOf(ofClock[0] ?? '')).text).toContain('Asia/Tokyo');

    await send('/api/tool-servers', { url: taskList, id: 'tasks' });
    const withTasks = suggestQuestions(await toolsOf());
    expect(withTasks).toEqual(['List all open tasks', 'What time is it in Osaka?', 'What can you do for me?']);
    const tasks = await answerOf(withTasks[0] ?? '');
    expect(tasks.calls).toEqual([expect.stringMatching(/^TOOL:tasks\/list_tasks/)]);
    expect(tasks.text).toContain('Water the plants');

    await send('/api/tool-servers', { url: 'http://127.0.0.1:9', id: 'library', spec: library });
    const withLibrary = suggestQuestions(await toolsOf());
    expect(withLibrary).toEqual(['List all open tasks', 'Show overdue loans', 'What can you do for me?']);
    expect((await answerOf(withLibrary[1] ?? '')).text).toContain('library/overdue_loans');
  });

  it('ask for nothing that changes something, needs a value, or is no plain sentence', async () => {
    const tools = (await toolsOf()).filter(({ server }) => server === 'library');
    expect(suggestQuestions(tools)).toEqual(['Show overdue loans', 'Show the opening hours of this week', 'What can you do for me?']);
    expect(suggestQuestions([])).toEqual(['What can you do for me?']);
  });
});
