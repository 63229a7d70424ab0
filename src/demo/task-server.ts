import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';

export interface TaskServer {
  url: string;
  document: object;
  /** What is on the list now; may be emptied. */
  tasks: string[];
  close(): Promise<void>;
}

/** A tool server with a list of tasks: one function reads it, the other one changes it. */
export async function startTaskServer(): Promise<TaskServer> {
  const tasks: string[] = [];
  const server = createServer((request, response) => {
    void answer(request, tasks).then(({ status, value }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    document,
    tasks,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function answer(request: IncomingMessage, tasks: string[]): Promise<{ status: number; value: unknown }> {
  if (request.url === '/openapi.json') return { status: 200, value: document };
  if (request.url !== '/tasks') return { status: 404, value: { detail: 'Not Found' } };
  if (request.method !== 'POST') return { status: 200, value: tasks };
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += String(piece);
  const { task } = JSON.parse(text) as { task: string };
  tasks.push(task);
  return { status: 200, value: { added: task, tasks: tasks.length } };
}

const document = {
  openapi: '3.1.0',
  info: { title: 'Tasks', version: '1.0.0' },
  paths: {
    '/tasks': {
      get: { operationId: 'list_tasks', description: 'Lists the tasks.', responses: { 200: { description: 'The tasks' } } },
      post: {
        operationId: 'add_task',
        description: 'Adds a task to the list.',
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: { type: 'object', properties: { task: { type: 'string', description: 'What is to be done' } }, required: ['task'] },
            },
          },
        },
        responses: { 200: { description: 'Added' } },
      },
    },
  },
};
