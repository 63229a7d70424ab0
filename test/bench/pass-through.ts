import { fastify } from 'fastify';
import { Pool } from 'undici';

/**
 * The least that a gateway on this stack can be: it hands bytes through and knows nothing of them. Its one argument is the backend's URL.
 * It authenticates nobody, checks nothing, logs nothing, and stops no backend whose client has left.
 */
const pool = new Pool(process.argv[2] ?? '', { connections: 1_024, pipelining: 1 });
const app = fastify({ forceCloseConnections: true });

app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

app.get('/health', () => ({ status: true }));
app.post('/v1/chat/completions', async (request, reply) => {
  const answer = await pool.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: request.body as Buffer,
  });
  const type = answer.headers['content-type'];
  return reply
    .code(answer.statusCode)
    .header('content-type', typeof type === 'string' ? type : 'application/json')
    .send(answer.body);
});

await app.listen({ host: '127.0.0.1', port: 0, backlog: 2_048 });
const address = app.server.address();
process.stdout.write(`listening ${typeof address === 'object' && address !== null ? address.port : 0}\n`);
