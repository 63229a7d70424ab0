// A tool server to try things with: a list of tasks, described by OpenAPI. It needs Node.js and nothing else.
import { createServer } from 'node:http';

const port = Number(process.argv[2] ?? 8000);
const tasks = [{ id: 1, title: 'Water the plants' }];

const task = {
  type: 'object',
  properties: { id: { type: 'integer' }, title: { type: 'string' } },
};
const answerOf = (schema) => ({ 200: { description: 'OK', content: { 'application/json': { schema } } } });
const openapi = {
  openapi: '3.1.0',
  info: { title: 'Tasks', version: '1.0.0', description: 'A list of tasks' },
  paths: {
    '/tasks': {
      get: {
        operationId: 'list_tasks',
        description: 'Lists all open tasks',
        responses: answerOf({ type: 'array', items: task }),
      },
      post: {
        operationId: 'add_task',
        description: 'Adds a task to the list',
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: { title: { type: 'string', description: 'What has to be done' } },
                required: ['title'],
              },
            },
          },
        },
        responses: answerOf(task),
      },
    },
  },
};

const server = createServer(async (request, response) => {
  const reply = (status, value) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  };
  if (request.url === '/openapi.json') return reply(200, openapi);
  if (request.url !== '/tasks') return reply(404, { error: 'Not found' });
  if (request.method === 'GET') return reply(200, tasks);

  let body = '';
  for await (const chunk of request) body += chunk;
  try {
    const added = { id: tasks.length + 1, title: String(JSON.parse(body).title) };
    tasks.push(added);
    reply(200, added);
  } catch {
    reply(400, { error: 'The body is not JSON' });
  }
});
server.listen(port, '127.0.0.1', () => {
  process.stdout.write(`The task list listens on http://127.0.0.1:${server.address().port}\n`);
});
