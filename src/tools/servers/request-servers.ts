import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChatRequest, RequestToolServer } from '../../core/chat/chat.ts';
import { GatewayError, OutboundError, invalidField } from '../../core/errors.ts';
import { isJsonObject, ownValue, type JsonObject } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { Tool } from '../../core/tools/tool.ts';
import { withoutUndefined } from '../../shared/json/without-undefined.ts';
import { trustOf } from './request-trust.ts';
import { readSpecs, type DescribedFunction } from './read-specs.ts';
import type { CallBrowser } from '../../core/tools/browser-call.ts';
import { everythingSent, maskOfEverythingSent } from '../outgoing/secrets-to-mask.ts';
import { createBrowserTool } from './browser-tool.ts';
import { requestServerHeaders, sessionUserOf } from '../outgoing/connection-headers.ts';
import { possibleNames } from '../definitions/name-functions.ts';
import { leftOutWarning, type Candidate, type SuppliedFunctions, type Warning } from '../definitions/tool-source.ts';
import { addressOfCall, buildRequest } from '../openapi/call/build-request.ts';
import { createRequestBudget, type ConversionBudget } from '../openapi/conversion-budget.ts';
import { missingFromBody } from '../openapi/call/choose-body.ts';
import { createOpenApiTool, type OpenApiConnection } from '../openapi/call/openapi-tool.ts';
import { takesNothing, type Operation } from '../definitions/operation.ts';
import { createBaseUrls } from '../openapi/document/server-base-url.ts';
import { loadServerDocument, toOpenApiConnection, type DescribedServer, type LoadedServerDocument } from './load-server-document.ts';
import { isSafeMethod, rulesOfRequest, whyWithheld, withServerRules, type ServerRules } from '../definitions/server-rules.ts';

export interface RequestServersOptions {
  send: SendOutbound;
  callBrowser: CallBrowser;
  /** The time limit of browser calls, unless the request sets its own. */
  browserToolTimeoutMs: number;
  /** The id of the registered server that gets session tokens at this origin; undefined if there is none. */
  sessionServerAt?: (origin: string) => string | undefined;
}

/** `budget` is shared by all servers of the request. */
interface ServerContext {
  server: RequestToolServer;
  index: number;
  run: RunContext;
  isInBrowser: boolean;
  timeoutMs: number;
  budget: ConversionBudget;
}

/**
 * Opens a request's own `tool_servers`; one result per server, in their order. In the browser the functions come from `openapi`, else `specs`, else
 * the fetched document; in the gateway from `openapi`, else the fetched document. A server without a usable document is left out with a warning. A
 * warning also says if functions were left out because of the limits that all servers of the request share.
 * @throws GatewayError `document_required` for specs that the gateway would have to execute, `invalid_request`; the signal's reason
 */
export async function openRequestServers(
  request: Pick<ChatRequest, 'toolServers' | 'toolTimeoutMs'>,
  run: RunContext,
  options: RequestServersOptions,
): Promise<SuppliedFunctions[]> {
  const { toolServers, toolTimeoutMs } = request;
  if (toolServers.length > limits.toolServersPerRequest) {
    throw invalidField(
      'tool_servers',
      `${toolServers.length} servers in one request; at most ${limits.toolServersPerRequest} are possible.`,
    );
  }
  const timeoutMs = toolTimeoutMs ?? options.browserToolTimeoutMs;
  const budget = createRequestBudget();
  const defaultExecution = run.sessionId === undefined ? 'gateway' : 'browser';
  const contexts = toolServers.map((server, index): ServerContext => {
    return { server, index, run, isInBrowser: (server.execution ?? defaultExecution) === 'browser', timeoutMs, budget };
  });
  // Checked before anything is fetched, so that an invalid request costs nothing.
  for (const context of contexts) checkServer(context);
  const opened = await Promise.all(contexts.map((context) => openServer(context, options)));
  const supplied: SuppliedFunctions[] = [];
  let room: number = limits.requestFunctions;
  // One server after the other: slices of several would run in one turn of the event loop.
  for (const server of opened) {
    const functions = await supplyFrom(server, room);
    room -= functions.candidates.length;
    supplied.push(functions);
  }
  return supplied;
}

/** A function of a server: a candidate, or the reason why the request's own rules withhold it. */
type JudgedFunction = Candidate | string;

interface OpenedRequestServer {
  context: ServerContext;
  /** Made one by one, because there may be thousands. */
  functions: Iterable<JudgedFunction>;
  warnings: Warning[];
  /** Why there is no function if there is none, unless the rules say so. */
  whyEmpty?: string;
}

/** Functions made in one turn of the event loop: a few milliseconds. */
const madePerTurn = 250;

async function supplyFrom(opened: OpenedRequestServer, room: number): Promise<SuppliedFunctions> {
  const { context, functions, warnings, whyEmpty } = opened;
  const candidates: Candidate[] = [];
  let withheld: string | undefined;
  let seen = 0;
  let surplus = 0;
  for (const judged of functions) {
    seen += 1;
    if (seen % madePerTurn === 0) await nextTurn();
    if (typeof judged === 'string') withheld ??= judged;
    else if (candidates.length < room) candidates.push(judged);
    else surplus += 1;
  }
  const reason = whyEmpty ?? withheld;
  if (candidates.length === 0 && surplus === 0) {
    return { candidates, warnings: reason === undefined ? warnings : [...warnings, leaveOut(context, 'tool_server_empty', reason)] };
  }
  const tooMany = { count: surplus, reason: `the servers of a request may have ${limits.requestFunctions} functions together` };
  return { candidates, warnings: surplus === 0 ? warnings : [...warnings, cutWarning(context, tooMany)] };
}

function leaveOut({ server, index }: ServerContext, code: string, reason: string): Warning {
  return leftOutWarning(code, `The tool server ${new URL(server.url).origin} (tool_servers.${index})`, reason);
}

function checkServer({ server, index, isInBrowser }: ServerContext): void {
  const url = URL.parse(server.url);
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    const message = `tool_servers.${index}.url must be an http:// or https:// address without user name and password.`;
    throw new GatewayError('invalid_request', message, { param: `tool_servers.${index}.url` });
  }
  const hasSpecsAlone = server.specs !== undefined && server.openapi === undefined && server.path === undefined;
  if (hasSpecsAlone && !isInBrowser) {
    const message =
      `tool_servers.${index}: the gateway cannot execute functions from "specs" alone, because they do not say how to call the server. ` +
      'Send its document as "openapi", or its address as "path"; or let the browser execute it with "session_id".';
    throw new GatewayError('document_required', message, { param: `tool_servers.${index}` });
  }
}

async function openServer(context: ServerContext, options: RequestServersOptions): Promise<OpenedRequestServer> {
  const { server, isInBrowser } = context;
  const withoutFunctions = (code: string, reason: string): OpenedRequestServer => {
    return { context, functions: [], warnings: [leaveOut(context, code, reason)] };
  };
  // A server with session tokens trusts the gateway to say who is calling, and the gateway's rules for it (approvals, functions, keys) apply only to
  // its registration.
  const registered = server.authType === 'session' ? options.sessionServerAt?.(new URL(server.url).origin) : undefined;
  if (registered !== undefined)
    return withoutFunctions('tool_server_registered', `it is registered as "${registered}"; choose it with tool_ids`);
  if (isInBrowser && server.openapi === undefined && server.specs !== undefined) return fromSpecs(context, server.specs, options);
  try {
    return fromDocument(context, await loadRequested(context, options.send), options);
  } catch (error) {
    context.run.signal.throwIfAborted();
    return withoutFunctions(codeOf(error), maskOfEverythingSent(server).text(error instanceof Error ? error.message : String(error)));
  }
}

function fromDocument(
  context: ServerContext,
  { opened: { conversion, head }, place }: LoadedServerDocument,
  options: RequestServersOptions,
): OpenedRequestServer {
  const { operations, omitted, cut } = conversion;
  const rules = rulesOfRequest(context.server);
  const createTool = (context.isInBrowser ? browserTools : gatewayTools)(context, { document: head, place }, options);
  const [first] = omitted;
  const none = operations.length === 0 ? 'its document has no operation' : undefined;
  const whyEmpty = first === undefined ? none : `${first.operation}: ${first.reason}`;
  const warnings = cut === undefined || operations.length === 0 ? [] : [cutWarning(context, cut)];
  const functions = judgeOperations(operations, { index: context.index, rules, createTool });
  return { context, functions, warnings, ...withoutUndefined({ whyEmpty }) };
}

interface Judging<Source> {
  /** Of the server in the request. */
  index: number;
  rules: ServerRules;
  createTool: CreateTool<Source>;
}

function* judgeOperations(operations: readonly Operation[], { index, rules, createTool }: Judging<Operation>): Generator<JudgedFunction> {
  for (const operation of operations) {
    const endpoint = `${operation.method} ${operation.path}`;
    yield whyWithheld(operation, rules) ?? toCandidate(operation, { key: `${index} ${endpoint}`, endpoint, rules, createTool });
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof OutboundError)) return 'tool_server_invalid';
  return error.failure === 'denied' ? 'egress_denied' : 'tool_server_unreachable';
}

function cutWarning({ server, index }: ServerContext, { count, reason }: { count: number; reason: string }): Warning {
  const message = `At least ${count} functions of the tool server ${new URL(server.url).origin} (tool_servers.${index}) are left out: ${reason}.`;
  return { code: 'functions_left_out', message };
}

async function loadRequested({ server, run, isInBrowser, budget }: ServerContext, send: SendOutbound): Promise<LoadedServerDocument> {
  const { url, path = 'openapi.json', openapi } = server;
  const loaded = await loadServerDocument(
    {
      url,
      path,
      document: openapi,
      // A server used by the browser gets no credential from the gateway, not even for its document.
      credentials: isInBrowser
        ? { headers: {}, sessionUser: undefined }
        : { headers: requestServerHeaders(server), sessionUser: sessionUserOf(server, run) },
      trustFor: () => trustOf(run),
    },
    (request) => send({ ...request, caller: run.caller.id }),
    {
      job: {
        secrets: isInBrowser ? [] : everythingSent(server),
        budget,
        isChecked: false,
      },
      reader: { kind: 'requested', caller: run.caller.id, signal: run.signal },
    },
  );
  if (loaded === undefined) throw new Error('the server did not send a document');
  return loaded;
}

type CreateTool<Described> = (described: Described, offeredName: string) => Tool;

function toCandidate<Described extends Pick<Operation, 'spec' | 'operationId'>>(
  described: Described,
  { key, endpoint, rules, createTool }: { key: string; endpoint?: string; rules: ServerRules; createTool: CreateTool<Described> },
): Candidate {
  const { spec, operationId } = described;
  const wish = { wanted: spec.name, key, otherNames: [operationId] };
  return {
    ...wish,
    toTool: (offeredName) => {
      const names = [operationId, ...possibleNames(wish)];
      return withServerRules({ ...createTool(described, offeredName), ...(endpoint !== undefined && { endpoint }) }, names, rules);
    },
  };
}

function gatewayTools({ server, run }: ServerContext, described: DescribedServer, { send }: RequestServersOptions): CreateTool<Operation> {
  const headersFor: OpenApiConnection['headersFor'] = (_run, security) => requestServerHeaders(server, security);
  const connection = toOpenApiConnection({ ...server, extra: { config: server.config ?? {} } }, described, {
    trust: trustOf(run),
    send,
    headersFor,
  });
  return (operation, offeredName) =>
    createOpenApiTool({ operation, offeredName, label: operation.spec.name, server: server.url, connection });
}

function browserTools(
  { server, timeoutMs }: ServerContext,
  { document, place }: DescribedServer,
  { callBrowser }: RequestServersOptions,
): CreateTool<Operation> {
  const baseUrlFor = createBaseUrls(document, place ?? server.url, undefined);
  const info = server.info ?? ownValue(document, 'info');
  return (operation, offeredName) =>
    createBrowserTool({
      described: operation,
      offeredName,
      server: { url: server.url, ...(isJsonObject(info) && { info }) },
      prepare: (args) => buildRequest(operation, args, baseUrlFor(operation)),
      addressOf: (args) => addressOfCall(operation, args, baseUrlFor(operation)),
      isReadOnly: isSafeMethod(operation.method),
      takesNothing: takesNothing(operation),
      missingFrom: (args) => missingFromBody(operation, args),
      callBrowser,
      timeoutMs,
    });
}

/** Specs lose information, so they are used only if there is no document. */
function fromSpecs(context: ServerContext, specs: JsonObject[], { callBrowser }: RequestServersOptions): OpenedRequestServer {
  const { server, index, timeoutMs } = context;
  const { usable, nameless } = readSpecs(specs);
  const rules = rulesOfRequest(server);
  const shown = { url: server.url, ...withoutUndefined({ info: server.info }) };
  const createTool: CreateTool<DescribedFunction> = (described, offeredName) =>
    createBrowserTool({ described, offeredName, server: shown, callBrowser, timeoutMs });
  const warnings = nameless.map((position) =>
    leftOutWarning('function_invalid', `The function tool_servers.${index}.specs.${position}`, 'it has no name'),
  );
  return { context, functions: judgeSpecs(usable, { index, rules, createTool }), warnings };
}

function* judgeSpecs(
  specs: readonly DescribedFunction[],
  { index, rules, createTool }: Judging<DescribedFunction>,
): Generator<JudgedFunction> {
  for (const [position, described] of specs.entries()) {
    const key = `${index} ${described.operationId} ${position}`;
    yield whyWithheld({ ...described, method: undefined }, rules) ?? toCandidate(described, { key, rules, createTool });
  }
}
