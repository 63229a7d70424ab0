import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type CompleteResult,
  type GetPromptResult,
  type ListPromptsResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type ReadResourceResult,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { readChain } from '../../core/tools/gateway-chain.ts';
import type { ContentsAsker, ContentsKind, ServerContents } from '../../core/tools/server-contents.ts';
import type { ListedTool, ToolFinder } from '../../core/tools/tool.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { appViewsOf, withViewUris } from './app-views.ts';
import { askerOf } from './mcp-request.ts';
import type { SessionSubscriptions } from './resource-subscriptions.ts';

/** Answers the requests for resources, templates, prompts, and completions of their arguments. */
export function handleContents(server: Server, contents: ServerContents, tools: Pick<ToolFinder, 'list'>): void {
  const toolsOf = ({ caller, signal }: ContentsAsker): Promise<readonly ListedTool[]> =>
    tools.list(caller, AbortSignal.any([signal, AbortSignal.timeout(2 * limits.documentTimeoutMs)]));
  const list = (kind: ContentsKind, cursor: string | undefined, context: ServerContext): Promise<object> =>
    translated(async () => {
      const gateways = readChain(context.mcpReq._meta) ?? [];
      const asker = askerOf(context);
      const { items, nextCursor } = await contents.list(kind, { cursor, gateways }, asker);
      return {
        [kind]: kind === 'resources' ? await withViewUris(items, () => toolsOf(asker)) : items,
        ...(nextCursor !== undefined && { nextCursor }),
      };
    });
  server.setRequestHandler(
    'resources/list',
    async ({ params }, context) => (await list('resources', params?.cursor, context)) as ListResourcesResult,
  );
  server.setRequestHandler(
    'resources/templates/list',
    async ({ params }, context) => (await list('resourceTemplates', params?.cursor, context)) as ListResourceTemplatesResult,
  );
  server.setRequestHandler(
    'prompts/list',
    async ({ params }, context) => (await list('prompts', params?.cursor, context)) as ListPromptsResult,
  );
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const notFound = (): ProtocolError => new ResourceNotFoundError(uri.slice(0, limits.mcpUriCharacters));
    const asker = askerOf(context);
    if (!uri.startsWith('ui://')) return resultOf<ReadResourceResult>(() => contents.read(uri, asker), notFound);
    const view = appViewsOf(await toolsOf(asker)).find(uri);
    if (view === undefined) throw notFound();
    return resultOf<ReadResourceResult>(() => contents.readView(view, asker), notFound);
  });
  server.setRequestHandler('prompts/get', async ({ params }, context) => {
    return resultOf<GetPromptResult>(() => contents.prompt(params.name, params.arguments, askerOf(context)));
  });
  server.setRequestHandler('completion/complete', async ({ params: { ref, argument, context: known } }, context) => {
    const wanted = { ref, argument, ...(known?.arguments && { context: { arguments: known.arguments } }) };
    return resultOf<CompleteResult>(() => contents.complete(wanted, askerOf(context)));
  });
}

/** Of a session: in the protocol versions of 2025 clients subscribe with a request. */
export function handleSubscriptions(server: Server, subscriptions: SessionSubscriptions): void {
  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }, context) => {
    const notFound = (): ProtocolError => new ResourceNotFoundError(uri.slice(0, limits.mcpUriCharacters));
    await translated(() => subscriptions.subscribe(uri, askerOf(context).caller), notFound);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.unsubscribe(uri);
    return {};
  });
}

/** With these the caller learns that the request was wrong; with all others, that the server or the gateway has failed. */
const mistakes: ReadonlySet<string> = new Set([
  'not_found',
  'invalid_request',
  'upstream_rejected',
  'payload_too_large',
  'rate_limit_exceeded',
]);

/** A server's answer is passed on without a check. */
async function resultOf<Result>(work: () => Promise<JsonObject>, notFound?: () => ProtocolError): Promise<Result> {
  return (await translated(work, notFound)) as unknown as Result;
}

async function translated<Value>(work: () => Promise<Value>, notFound?: () => ProtocolError): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error.code === 'not_found' && notFound !== undefined) throw notFound();
    const code = mistakes.has(error.code) ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(code, error.message);
  }
}
