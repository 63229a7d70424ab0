import { GatewayError } from '../../core/errors.ts';
import type { OutboundResponse, SendOutbound } from '../../core/outbound.ts';
import type { PassedAnswer, PassedPath } from '../../core/models/pass-on.ts';
import type { BackendClient, SentBytes, SentFor } from '../transport/backend-client.ts';
import { clientOf, type OpenAiConnection } from './openai-compatible.ts';

/** A JSON answer that is passed on unchanged: two thousand embeddings with fifteen hundred numbers each, or ten images. */
const passedJsonBytes = 64 * 1024 * 1024;

/** `POST {baseUrl}{path}`, passed through in both directions. */
export async function passOn(
  connection: OpenAiConnection,
  send: SendOutbound,
  { path, ...request }: { path: PassedPath } & SentFor & SentBytes,
): Promise<PassedAnswer> {
  const client = clientOf(connection, send);
  try {
    return await client.exchange(path, request, (response) => readAnswer(client, response));
  } catch (error) {
    throw missingRoute(error, path);
  }
}

async function readAnswer(client: BackendClient, response: OutboundResponse): Promise<PassedAnswer> {
  const { status, headers } = response;
  const contentType = headers['content-type'] ?? 'application/octet-stream';
  const type = contentType.toLowerCase();
  if (type.startsWith('text/html')) throw client.invalid('answers with a web page');
  if (/^application\/(?:[\w.-]+\+)?json\b/.test(type))
    return { status, contentType, body: await client.readBytes(response, passedJsonBytes) };
  return { status, contentType, body: type.startsWith('text/') ? client.maskedBody(response) : response.body };
}

/** A backend without such a route says as little as "Not Found". */
function missingRoute(error: unknown, path: PassedPath): unknown {
  if (!(error instanceof GatewayError) || error.code !== 'upstream_rejected' || (error.status !== 404 && error.status !== 405))
    return error;
  const message = `${error.message.replace(/\.?$/, '.')} If its backend has no ${path}, choose a model of one that has.`;
  return new GatewayError(error.code, message, { status: error.status, ...(error.param !== null && { param: error.param }) });
}
