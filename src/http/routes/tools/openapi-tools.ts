import type { FastifyPluginAsync } from 'fastify';
import { GatewayError } from '../../../core/errors.ts';
import { gatewayHeader } from '../../../core/tools/gateway-chain.ts';
import { limits } from '../../../core/limits.ts';
import { isDeeperThan, isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { readRequestHeader } from '../../auth/read-request-header.ts';
import { disconnectSignal } from '../../disconnect-signal.ts';
import { bareResult, statusOfFailure } from '../../openapi-tools/bare-result.ts';
import { createToolDocument } from '../../openapi-tools/tool-document.ts';
import { askedAddress, publicAddress } from '../../public-address.ts';
import { sendPieces } from '../send-in-slices.ts';
import { toInvokedWire, type ToolRouteOptions } from './tools.ts';

interface OpenApiToolRouteOptions extends ToolRouteOptions {
  version: string;
  /** Random, new for each start. */
  gatewayId: string;
}

/**
 * The gateway as an OpenAPI tool server: `GET /api/tools/openapi.json` describes every function that the caller may use, and
 * `POST /api/tools/{name}/call` takes its arguments and gives its bare result.
 */
export const openApiToolRoutes: FastifyPluginAsync<OpenApiToolRouteOptions> = async (
  app,
  { tools, invoke, publicUrl, version, gatewayId },
) => {
  const toDocument = createToolDocument({ version, gatewayId });
  app.get('/api/tools/openapi.json', async ({ caller, headers }, reply) => {
    reply.header(gatewayHeader, gatewayId);
    // The list waits for its tool servers, and would wait for itself.
    if (headers[gatewayHeader] === gatewayId)
      throw new GatewayError('conflict', 'This is the gateway itself, which cannot be its own tool server.');
    const listed = await tools.list(caller, AbortSignal.timeout(2 * limits.documentTimeoutMs));
    return sendPieces(reply, await toDocument(listed, askedAddress(headers, publicUrl)));
  });

  app.post<{ Params: { name: string } }>('/api/tools/:name/call', async (request, reply) => {
    const signal = disconnectSignal(reply);
    const { caller, params, body } = request;
    const invoked = await invoke(
      { idOrName: params.name, args: argumentsIn(body) },
      { caller, signal, readHeader: readRequestHeader(request), address: () => publicAddress(request.headers, publicUrl) },
    );
    const { outcome } = invoked;
    const status = outcome.type === 'result' ? 200 : statusOfFailure(outcome);
    request.log.info({ tool: invoked.id, status, duration_ms: invoked.durationMs }, 'tool invoked');
    const answer = outcome.type === 'result' ? bareResult(outcome, invoked.notices) : toInvokedWire(invoked);
    return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(answer));
  });
};

/** @throws GatewayError `invalid_request` */
function argumentsIn(body: unknown): JsonObject {
  const args = body ?? {};
  if (!isJsonObject(args)) throw new GatewayError('invalid_request', 'The body must be a JSON object with the arguments of the function.');
  if (isDeeperThan(args, limits.jsonDepth))
    throw new GatewayError('invalid_request', `The arguments are nested deeper than ${limits.jsonDepth} levels.`);
  return args;
}
