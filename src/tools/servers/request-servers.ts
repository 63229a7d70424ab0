import type { ChatRequest, RequestToolServer } from '../../core/chat.ts';
import { GatewayError, OutboundError } from '../../core/errors.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { SendOutbound, Trust } from '../../core/outbound.ts';
import type { RunContext } from '../../core/run.ts';
import type { CallBrowser } from '../../core/browser-call.ts';
import { everythingSent, maskOfEverythingSent } from './credentials-of.ts';
import { createBrowserTool } from './browser-tool.ts';
import { callQuery, credentialHeaders, mergeHeaders, sessionUserOf } from './connection-headers.ts';
import { possibleNames } from '../catalog/name-functions.ts';
import { leftOutWarning } from '../catalog/offer-tools.ts';
import type { Candidate, Warning } from '../catalog/offer-tools.ts';
import { buildRequest } from '../openapi/call/build-request.ts';
import { createRequestBudget, type ConversionBudget } from '../openapi/convert/conversion-budget.ts';
import { documentUrl, loadDocument } from '../openapi/load/load-document.ts';
import { createOpenApiTool, type OpenApiConnection } from '../openapi/call/openapi-tool.ts';
import type { CredentialSet, Operation } from '../openapi/operation.ts';
import type { OpenedDocument } from '../openapi/load/open-document.ts';
import { openDocumentAside } from '../openapi/load/open-document-aside.ts';
import { createBaseUrls } from '../openapi/load/server-base-url.ts';
import { toSpecs } from './request-specs.ts';
import { isSafeMethod, rulesOfRequest, whyWithheld, withServerRules } from './server-rules.ts';

export interface RequestServersOptions {
  send: SendOutbound;
  callBrowser: CallBrowser;
  /** For functions that run in a browser, unless the request sets its own limit. */
  browserToolTimeoutMs: number;
  /** The id of the registered server that gets session tokens at this origin; undefined where there is none. */
  sessionServerAt?: (origin: string) => string | undefined;
}

/** What one server of a request has to offer. */
export interface SuppliedFunctions {
  candidates: Candidate[];
  warnings: Warning[];
}

/** `budget` is the same for all servers of the request. */
type Place = { server: RequestToolServer; index: number; run: RunContext; timeoutMs: number; budget: ConversionBudget };

/**
 * The functions of a request's own `tool_servers`, one result a server in their order. In the browser: from `openapi`, else `specs`, else the
 * fetched document; in the gateway: from `openapi`, else the fetched document. A server whose document is not to be had is left out with a warning.
 * Of each no more functions are made than a request may have, and of all together no more than their shared budget allows; a warning says so.
 * @throws GatewayError `document_required` for specs that the gateway would have to execute, `invalid_request`; the signal's reason.
 */
export async function openRequestServers(
  request: Pick<ChatRequest, 'toolServers' | 'toolTimeoutMs'>,
  run: RunContext,
  options: RequestServersOptions,
): Promise<SuppliedFunctions[]> {
  const { toolServers, toolTimeoutMs } = request;
  if (toolServers.length > limits.toolServersPerRequest) {
    const message = `tool_servers: ${toolServers.length} servers in one request; at most ${limits.toolServersPerRequest} are possible.`;
    throw new GatewayError('invalid_request', message, { param: 'tool_servers' });
  }
  const timeoutMs = toolTimeoutMs ?? options.browserToolTimeoutMs;
  const budget = createRequestBudget();
  const places = toolServers.map((server, index): Place => ({ server, index, run, timeoutMs, budget }));
  // Before anything is fetched, so that a wrong request costs nothing.
  for (const place of places) checkServer(place);
  return Promise.all(places.map((place) => openServer(place, options)));
}

function runsInBrowser({ server, run }: Place): boolean {
  return (server.execution ?? (run.sessionId === undefined ? 'gateway' : 'browser')) === 'browser';
}

function checkServer(place: Place): void {
  const { server, index } = place;
  const url = URL.parse(server.url);
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    const message = `tool_servers.${index}.url must be an http:// or https:// address without user name and password.`;
    throw new GatewayError('invalid_request', message, { param: `tool_servers.${index}.url` });
  }
  const hasSpecsAlone = server.specs !== undefined && server.openapi === undefined && server.path === undefined;
  if (hasSpecsAlone && !runsInBrowser(place)) {
    const message =
      `tool_servers.${index}: the gateway cannot execute functions from "specs" alone, because they do not say how to call the server. ` +
      'Send its document as "openapi", or its address as "path"; or let the browser execute it with "session_id".';
    throw new GatewayError('document_required', message, { param: `tool_servers.${index}` });
  }
}

async function openServer(place: Place, options: RequestServersOptions): Promise<SuppliedFunctions> {
  const { server } = place;
  const isInBrowser = runsInBrowser(place);
  // It trusts the gateway's word on who asks, and the gateway's rules for it (approvals, functions, keys) hold for its registration alone.
  const registered = server.authType === 'session' ? options.sessionServerAt?.(new URL(server.url).origin) : undefined;
  if (registered !== undefined) {
    const reason = `it is registered as "${registered}"; choose it with tool_ids`;
    return { candidates: [], warnings: [leftOut(place, 'tool_server_registered', reason)] };
  }
  if (isInBrowser && server.openapi === undefined && server.specs !== undefined) return fromSpecs(place, server.specs, options);
  try {
    const { conversion, head } = await openDocumentOf(place, options.send, isInBrowser);
    const { operations, omitted, cut } = conversion;
    const toCandidate = isInBrowser ? browserCandidate(place, head, options) : gatewayCandidate(place, head, options);
    const rules = rulesOfRequest(server);
    const withheld = operations.map((operation) => whyWithheld(operation, rules));
    const candidates = operations.filter((_, index) => withheld[index] === undefined).map((operation) => toCandidate(operation));
    const [first] = omitted;
    const none = withheld[0] ?? 'its document has no operation';
    const reason = first === undefined ? none : `${first.operation}: ${first.reason}`;
    if (candidates.length === 0) return { candidates, warnings: [leftOut(place, 'tool_server_empty', reason)] };
    return { candidates, warnings: cut === undefined ? [] : [cutWarning(place, cut)] };
  } catch (error) {
    place.run.signal.throwIfAborted();
    const reason = maskOfEverythingSent(server).text(error instanceof Error ? error.message : String(error));
    return { candidates: [], warnings: [leftOut(place, codeOf(error), reason)] };
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof OutboundError)) return 'tool_server_invalid';
  return error.failure === 'denied' ? 'egress_denied' : 'tool_server_unreachable';
}

function leftOut({ server, index }: Place, code: string, reason: string): Warning {
  return leftOutWarning(code, `The tool server ${new URL(server.url).origin} (tool_servers.${index})`, reason);
}

function cutWarning({ server, index }: Place, { count, reason }: { count: number; reason: string }): Warning {
  const message = `At least ${count} functions of the tool server ${new URL(server.url).origin} (tool_servers.${index}) are left out: ${reason}.`;
  return { code: 'functions_left_out', message };
}

/** Whoever may reach private addresses anyway may name them here too. */
function trustOf(run: RunContext): Trust {
  return { kind: 'request', mayReachPrivate: run.caller.role === 'admin' || run.caller.isOpen };
}

/** A browser's server gets no credential from the gateway, not even for its document. */
function gatewayHeaders(server: RequestToolServer, security?: CredentialSet[]): Record<string, string> {
  return mergeHeaders(server.headers, credentialHeaders(server, security));
}

async function openDocumentOf({ server, run, budget }: Place, send: SendOutbound, isInBrowser: boolean): Promise<OpenedDocument> {
  const { url, path = 'openapi.json', openapi } = server;
  // A document in the request was measured for depth with the request.
  const secrets = isInBrowser ? [] : everythingSent(server);
  const job = { secrets, budget, maxOperations: limits.toolsPerRequest, isChecked: false, isShallow: true };
  const reader = { kind: 'requested', caller: run.caller.id, signal: run.signal } as const;
  if (openapi !== undefined) return openDocumentAside({ ...job, source: openapi }, noFiles, reader);
  const isSameOrigin = new URL(documentUrl(url, path)).origin === new URL(url).origin;
  const isCredited = !isInBrowser && isSameOrigin;
  const headers = isCredited ? gatewayHeaders(server) : {};
  const sessionUser = isCredited ? sessionUserOf(server, run) : undefined;
  const loaded = await loadDocument({ url, path, headers, sessionUser, trust: trustOf(run) }, send, { job, reader });
  if (loaded.type === 'unchanged') throw new Error('the server sends no document');
  return loaded.opened;
}

/** What a request names must not make the gateway fetch anything else. */
function noFiles(): Promise<never> {
  return Promise.reject(new Error('references to files are not followed here'));
}

function gatewayCandidate(
  { server, index, run }: Place,
  document: JsonObject,
  { send }: RequestServersOptions,
): (operation: Operation) => Candidate {
  const connection: OpenApiConnection = {
    baseUrlFor: createBaseUrls(document, server.url, undefined),
    trust: trustOf(run),
    send,
    headersFor: (_run, security) => gatewayHeaders(server, security),
    queryFor: (security) => callQuery(server, security),
    ...(server.authType === 'session' && { sessionUserFor: (asked: RunContext) => sessionUserOf(server, asked) }),
    key: server.key,
  };
  const rules = rulesOfRequest(server);
  return (operation) => {
    const wish = wishOf(operation, index);
    return {
      ...wish,
      toTool(offeredName) {
        const tool = createOpenApiTool({ operation, offeredName, label: operation.spec.name, server: server.url, connection });
        return withServerRules(
          { ...tool, endpoint: `${operation.method} ${operation.path}` },
          [...wish.otherNames, ...possibleNames(wish)],
          rules,
        );
      },
    };
  };
}

function browserCandidate(place: Place, document: JsonObject, { callBrowser }: RequestServersOptions): (operation: Operation) => Candidate {
  const { server, index, timeoutMs } = place;
  const baseUrlFor = createBaseUrls(document, server.url, undefined);
  const info = server.info ?? ownValue(document, 'info');
  const rules = rulesOfRequest(server);
  return (operation) => {
    const wish = wishOf(operation, index);
    return {
      ...wish,
      toTool(offeredName) {
        const tool = createBrowserTool({
          spec: { ...operation.spec, name: offeredName },
          label: operation.spec.name,
          ownName: operation.operationId,
          server: { url: server.url, ...(isJsonObject(info) && { info }) },
          prepare: (args) => buildRequest(operation, args, baseUrlFor(operation)),
          isReadOnly: isSafeMethod(operation.method),
          callBrowser,
          timeoutMs,
        });
        return withServerRules(
          { ...tool, endpoint: `${operation.method} ${operation.path}` },
          [...wish.otherNames, ...possibleNames(wish)],
          rules,
        );
      },
    };
  };
}

function wishOf({ spec, method, path, operationId }: Operation, index: number): { wanted: string; key: string; otherNames: string[] } {
  return { wanted: spec.name, key: `${index} ${method} ${path}`, otherNames: [operationId] };
}

/** Specs are lossy, and serve only where there is no document. */
function fromSpecs(place: Place, specs: JsonObject[], { callBrowser }: RequestServersOptions): SuppliedFunctions {
  const { server, index, timeoutMs } = place;
  const { usable, nameless } = toSpecs(specs.slice(0, limits.toolsPerRequest));
  const count = Math.max(0, specs.length - limits.toolsPerRequest);
  const cut = count === 0 ? [] : [cutWarning(place, { count, reason: `a request may have ${limits.toolsPerRequest}` })];
  const rules = rulesOfRequest(server);
  const candidates = usable.flatMap(({ ownName, spec }, position): Candidate[] => {
    const ruled = { operationId: ownName, spec, method: undefined };
    if (whyWithheld(ruled, rules) !== undefined) return [];
    const wish = { wanted: spec.name, key: `${index} ${ownName} ${position}`, otherNames: [ownName] };
    const toTool: Candidate['toTool'] = (offeredName) => {
      const tool = createBrowserTool({
        spec: { ...spec, name: offeredName },
        label: spec.name,
        ownName,
        server: { url: server.url, ...(server.info !== undefined && { info: server.info }) },
        callBrowser,
        timeoutMs,
      });
      return withServerRules(tool, [...wish.otherNames, ...possibleNames(wish)], rules);
    };
    return [{ ...wish, toTool }];
  });
  const what = (position: number): string => `The function tool_servers.${index}.specs.${position}`;
  const unusable = nameless.map((position) => leftOutWarning('function_invalid', what(position), 'it has no name'));
  return { candidates, warnings: [...unusable, ...cut] };
}
