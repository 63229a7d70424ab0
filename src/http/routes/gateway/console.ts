import { readFile } from 'node:fs/promises';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../../core/errors.ts';
import { consoleHeaders, workerPolicy } from '../../pages/console-headers.ts';
import { messagePage, renderPage } from '../../pages/page.ts';

/** The console as it was made. */
export interface ConsoleFolder {
  /** Ends in `/`. */
  url: URL;
  /** Digest of the page. */
  shell: string;
  /** The media type of each file, by name. */
  types: Readonly<Record<string, string>>;
}

interface ConsoleRouteOptions {
  /** Made at the first call where the gateway runs from its sources. @throws GatewayError `not_found`, naming the cure, where it cannot be made */
  findConsole: () => Promise<ConsoleFolder>;
  version: string;
  /** People can sign in with an account. */
  hasSignIn: boolean;
}

/** Their names change with their content. */
const immutable = 'public, max-age=31536000, immutable';

/**
 * The console: one page application at `/` and below `/console/`, and its files. Nothing of it is kept in memory. Programs that ask for `/` get a
 * line of JSON: browsers are known by asking for HTML.
 */
export const consoleRoutes: FastifyPluginAsync<ConsoleRouteOptions> = async (app, { findConsole, version, hasSignIn }) => {
  async function sendShell(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    reply.header('vary', 'accept, accept-encoding');
    const found = await findConsole().catch((error: unknown) => {
      if (error instanceof GatewayError) return error;
      throw error;
    });
    if (found instanceof GatewayError) {
      const { headers, document } = renderPage(messagePage('The console is not installed', found.message));
      return reply.code(found.status).headers(headers).send(document);
    }
    const depth = depthOf(request.url);
    const etag = `"${found.shell}${depth === 0 ? '' : `-${depth}`}"`;
    reply.headers(consoleHeaders).header('etag', etag);
    if (request.headers['if-none-match']?.includes(etag) === true) return reply.code(304).send();
    const shell = new URL('shell.html', found.url);
    if (depth === 0) return sendFile(request, reply, shell);
    const text = await readFile(shell, 'utf8');
    return reply.send(text.replaceAll('"console/assets/', `"${'../'.repeat(depth)}console/assets/`));
  }

  app.get('/', async (request, reply) => {
    if (request.headers.accept?.includes('text/html') === true) return sendShell(request, reply);
    return reply.header('vary', 'accept').send({
      name: 'toolwharf',
      version,
      chat: 'POST /v1/chat/completions',
      models: 'GET /v1/models',
      tools: 'GET /api/tools',
      socket: 'GET /ws',
      client: 'GET /client.js',
      state: 'GET /ready',
      docs: 'GET /docs',
      ...(hasSignIn && { sign_in: 'GET /login' }),
    });
  });

  app.get('/console', sendShell);
  app.get('/console/*', sendShell);

  app.get<{ Params: { file: string } }>('/console/assets/:file', async (request, reply) => {
    const { file } = request.params;
    const { url, types } = await findConsole();
    const type = Object.hasOwn(types, file) ? types[file] : undefined;
    if (type === undefined) throw new GatewayError('not_found', 'The console was updated and no longer has this file. Reload the page.');
    reply
      .type(type)
      .header('cache-control', immutable)
      .header('vary', 'accept-encoding')
      .header('cross-origin-resource-policy', 'same-origin');
    if (/^[\w-]*worker-/.test(file)) reply.header('content-security-policy', workerPolicy(file));
    return sendFile(request, reply, new URL(file, url));
  });
};

/** The page names its files relative to its own address, because a proxy may serve the gateway below a path that it takes out of requests. */
function depthOf(url: string): number {
  return Math.max(0, (url.split('?', 1)[0] ?? '/').split('/').length - 2);
}

/** In the smallest form that the client takes. */
async function sendFile(request: FastifyRequest, reply: FastifyReply, url: URL): Promise<FastifyReply> {
  const accepted = [request.headers['accept-encoding'] ?? ''].join();
  const form = /\bbr\b/.test(accepted) ? ['br', '.br'] : /\bgzip\b/.test(accepted) ? ['gzip', '.gz'] : undefined;
  if (form !== undefined) reply.header('content-encoding', form[0]);
  return reply.send(await readFile(new URL(`${url.href}${form?.[1] ?? ''}`)));
}
