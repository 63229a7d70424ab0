import { createServer, request as requestHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { isJsonObject, type JsonObject } from '../../src/shared/json/json.ts';

/**
 * Puts the id of the tool server before the names of resources and prompts, which the gateway does to tell its servers apart, and takes it off in answers:
 * the scenarios name them as their server does. Everything else is passed on byte by byte. Gives the address of `/mcp`.
 */
export async function startNamingProxy(gatewayUrl: string, serverId: string): Promise<string> {
  const scheme = `toolwharf://${serverId}/`;
  const { port } = new URL(gatewayUrl);
  const proxy = createServer((request, response) => {
    void (async () => {
      const { message, named } = withServerId(await buffer(request), serverId, scheme);
      const { 'content-length': _length, 'transfer-encoding': _encoding, ...headers } = request.headers;
      // The header repeats the name in the body (protocol versions from 2026 on).
      if (named !== undefined && headers['mcp-name'] === named.before) headers['mcp-name'] = named.after;
      const { method, url: path } = request;
      const passed = requestHttp({ host: '127.0.0.1', port, method, path, headers: { ...headers, 'content-length': message.length } });
      passed.on('error', () => response.destroy());
      passed.on('response', (answer) => {
        const { 'content-length': _size, ...rest } = answer.headers;
        response.writeHead(answer.statusCode ?? 502, rest);
        response.flushHeaders();
        answer.pipe(withoutServerId(serverId, scheme)).pipe(response);
      });
      response.on('close', () => passed.destroy());
      passed.end(message);
    })();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
}

interface Named {
  before: string;
  after: string;
}

function withServerId(body: Buffer, serverId: string, scheme: string): { message: Buffer; named?: Named } {
  let message: unknown;
  try {
    message = JSON.parse(body.toString());
  } catch {
    return { message: body };
  }
  if (!isJsonObject(message)) return { message: body };
  const { method, params } = message;
  if (typeof method !== 'string' || !isJsonObject(params)) return { message: body };
  const target = method === 'completion/complete' && isJsonObject(params['ref']) ? params['ref'] : params;
  const named =
    prefix(target, 'uri', method.startsWith('resources/') ? scheme : undefined) ??
    prefix(target, 'name', method === 'prompts/get' || target !== params ? `${serverId}/` : undefined);
  return named === undefined ? { message: body } : { message: Buffer.from(JSON.stringify(message)), named };
}

function prefix(object: JsonObject, key: string, start: string | undefined): Named | undefined {
  const before = object[key];
  if (start === undefined || typeof before !== 'string') return undefined;
  const after = `${start}${before}`;
  object[key] = after;
  return { before, after };
}

/** Line by line, as no message is cut amid one. */
function withoutServerId(serverId: string, scheme: string): Transform {
  let rest = '';
  const strip = (text: string): string => text.replaceAll(scheme, '').replaceAll(`"name":"${serverId}/`, '"name":"');
  return new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      const lines = (rest + chunk.toString('utf8')).split(/(?<=\n)/);
      rest = lines.at(-1)?.endsWith('\n') === true ? '' : (lines.pop() ?? '');
      callback(null, strip(lines.join('')));
    },
    flush(callback) {
      callback(null, strip(rest));
    },
  });
}
