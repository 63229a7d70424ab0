import type { ChatRequest } from '../../core/chat/chat.ts';
import { invalidField, type GatewayError } from '../../core/errors.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';
import type { Tool, ToolOffer } from '../../core/tools/tool.ts';
import { findOfferedName, mayRunAs } from '../fit-calls/find-offered-name.ts';

/** A request and its offer after `tool_choice` was applied. */
interface ChosenOffer {
  request: ChatRequest;
  offer: ToolOffer;
}

/** Names listed in an error message. */
const shownNames = 20;

/**
 * Applies `tool_choice` to the offer before the model is requested. Names are matched like those in a model's calls, `allowed_tools` narrows the
 * offer, and forms of other APIs (`any`, a flat `{type, name}`) are converted to OpenAI's. If the gateway offers nothing, unknown forms are left to
 * the backend. A resumed run was checked already, and its functions may have changed since. @throws GatewayError `invalid_request` with `param`
 * `tool_choice`
 */
export function applyToolChoice(request: ChatRequest, offer: ToolOffer, isResumed: boolean): ChosenOffer {
  const { toolChoice: choice } = request;
  if (choice === undefined && request.parallelToolCalls === undefined) return { request, offer };
  const hasFunctions = request.callerFunctions.length > 0 || offer.tools.size > 0 || offer.finder !== undefined;
  if (!hasFunctions && request.hostedTools.length === 0) return withoutTools(request, offer, isResumed);
  const form = choice === 'any' || (isJsonObject(choice) && choice['type'] === 'any') ? 'required' : choice;
  if (form === undefined || form === 'auto' || form === 'none' || form === 'required')
    return { request: { ...request, toolChoice: form }, offer };
  // Only from here on: thousands of functions may be deferred.
  const names = [...request.callerFunctions.map(({ name }) => name), ...gatewayNames(offer)];
  if (isJsonObject(form) && form['type'] === 'allowed_tools' && offer.tools.size > 0)
    return narrowToAllowed({ request, offer, isResumed }, form, names);
  const server = isJsonObject(form) ? serverChoiceIn(form) : undefined;
  if (server !== undefined) return demandServer({ request, offer, isResumed }, server);
  const wanted = isJsonObject(form) ? namedFunction(form) : undefined;
  if (wanted !== undefined) {
    const found = findChosen(wanted, names, offer);
    if (found.type === 'unknown' && !isResumed) throw notOffered(wanted, names, offer);
    const name = found.type === 'unknown' ? wanted : found.name;
    return { request: { ...request, toolChoice: { type: 'function', function: { name } } }, offer };
  }
  if (offer.tools.size > 0 && !isHosted(form, request)) throw unknownForm(form);
  return { request, offer };
}

function gatewayNames({ tools, finder }: ToolOffer): string[] {
  return finder === undefined ? [...tools.keys()] : [...new Set([...tools.keys(), finder.tool.spec.name, ...finder.deferred.keys()])];
}

/** Removes both parameters, which OpenAI refuses without tools. Some frontends always send them; `auto` then means nothing. */
function withoutTools(request: ChatRequest, offer: ToolOffer, isResumed: boolean): ChosenOffer {
  const { toolChoice: choice } = request;
  if (choice !== undefined && choice !== 'auto' && choice !== 'none' && !isResumed) {
    const [warning] = offer.warnings;
    const reason = warning === undefined ? 'Send tools, or choose some by tool_ids or tool_servers.' : warning.message;
    throw refusal(`it demands a function, and this request has none. ${reason}`);
  }
  return { request: { ...request, toolChoice: undefined, parallelToolCalls: undefined }, offer };
}

/** As in a model's calls. */
function findChosen(wanted: string, names: readonly string[], { tools, finder }: ToolOffer): ReturnType<typeof findOfferedName> {
  const found = findOfferedName(wanted, names);
  if (found.type !== 'repaired') return found;
  const tool = tools.get(found.name) ?? finder?.deferred.get(found.name) ?? { spec: found };
  return mayRunAs(wanted, tool) ? found : { type: 'unknown', candidates: [found.name] };
}

/** `{type: "function", function: {name}}`; flat as in the Responses API; `{type: "tool", name}` as in Anthropic's. */
function namedFunction(choice: JsonObject): string | undefined {
  const type = ownValue(choice, 'type');
  if (type !== undefined && type !== 'function' && type !== 'tool') return undefined;
  const nested = ownValue(choice, 'function');
  const name = isJsonObject(nested) ? ownValue(nested, 'name') : ownValue(choice, 'name');
  return typeof name === 'string' ? name : undefined;
}

/** `{type: "mcp", server_label, name}`, as in the Responses API. */
interface ServerChoice {
  server: string;
  /** The server's own name of the function; undefined: all its functions. */
  name: string | undefined;
}

function serverChoiceIn(choice: JsonObject): ServerChoice | undefined {
  const server = ownValue(choice, 'server_label');
  const name = ownValue(choice, 'name');
  if (choice['type'] !== 'mcp' || typeof server !== 'string') return undefined;
  return { server, name: typeof name === 'string' ? name : undefined };
}

/** The names under which the functions of a server can be reached. */
function namesOfServer({ tools, finder }: ToolOffer, { server, name }: ServerChoice): string[] {
  const ofServer = [...tools.values(), ...(finder?.deferred.values() ?? [])].filter((tool) => tool.server === server);
  const meant = ofServer.filter(({ spec, otherNames = [] }) => name === undefined || spec.name === name || otherNames.includes(name));
  return [...new Set(meant.map(({ spec }) => spec.name))];
}

/** A single function is demanded by name; if there are several, only they are offered. */
function demandServer({ request, offer, isResumed }: ChosenOffer & { isResumed: boolean }, choice: ServerChoice): ChosenOffer {
  const names = namesOfServer(offer, choice);
  const [name] = names;
  if (name === undefined && !isResumed) throw noFunctionOfServer(choice, offer);
  if (name !== undefined && names.length === 1)
    return { request: { ...request, toolChoice: { type: 'function', function: { name } } }, offer };
  return offerOnly({ request, offer }, { names: new Set(names), hosted: [], mode: 'required' });
}

/** A provider's own tools are left to the backend. */
function isHosted(choice: JsonValue, { hostedTools }: ChatRequest): boolean {
  return isJsonObject(choice) && hostedTools.some((entry) => entry['type'] === choice['type']);
}

/** `{type: "allowed_tools", allowed_tools: {mode, tools}}`, or the same flat. Unlisted functions are not offered, which works with every backend. */
function narrowToAllowed(
  { request, offer, isResumed }: ChosenOffer & { isResumed: boolean },
  choice: JsonObject,
  names: readonly string[],
): ChosenOffer {
  const nested = ownValue(choice, 'allowed_tools');
  const { mode = 'auto', tools } = isJsonObject(nested) ? nested : choice;
  const entries = Array.isArray(tools) ? tools.filter((entry) => isJsonObject(entry)) : [];
  if ((mode !== 'auto' && mode !== 'required') || entries.length === 0 || entries.length > limits.toolsPerRequest)
    throw refusal(`allowed_tools needs a mode ("auto" or "required") and a list of at most ${limits.toolsPerRequest} tools.`);
  const allowed = new Set(
    entries.flatMap((entry) => {
      const server = serverChoiceIn(entry);
      if (server !== undefined) {
        const ofServer = namesOfServer(offer, server);
        if (ofServer.length === 0 && !isResumed) throw noFunctionOfServer(server, offer);
        return ofServer;
      }
      const wanted = namedFunction(entry);
      if (wanted === undefined) return [];
      const found = findChosen(wanted, names, offer);
      if (found.type !== 'unknown') return [found.name];
      if (isResumed) return [];
      throw notOffered(wanted, names, offer);
    }),
  );
  const hosted = request.hostedTools.filter((tool) => entries.some((entry) => entry['type'] === tool['type']));
  return offerOnly({ request, offer }, { names: allowed, hosted, mode });
}

/** Offers these functions and no others. */
function offerOnly(
  { request, offer }: ChosenOffer,
  { names, hosted, mode }: { names: ReadonlySet<string>; hosted: JsonObject[]; mode: 'auto' | 'required' },
): ChosenOffer {
  const { finder, describer, warnings, lists } = offer;
  const reachable = new Map<string, Tool>([...offer.tools, ...(finder?.deferred ?? [])]);
  const isSearching = finder !== undefined && names.has(finder.tool.spec.name);
  const offered = new Map([...reachable].filter(([name]) => names.has(name)));
  return {
    offer: { tools: offered, warnings, ...(lists && { lists }), ...(isSearching && { finder }), ...(describer && { describer }) },
    request: {
      ...request,
      toolChoice: mode,
      callerFunctions: request.callerFunctions.filter(({ name }) => names.has(name)),
      hostedTools: hosted,
    },
  };
}

function notOffered(wanted: string, names: readonly string[], { warnings: [warning] }: ToolOffer): GatewayError {
  const shown = names.slice(0, shownNames).join(', ') || 'none';
  const rest = names.length > shownNames ? ` and ${names.length - shownNames} others` : '';
  const reason = warning === undefined ? '' : ` ${warning.message}`;
  return refusal(`there is no function "${wanted.slice(0, 100)}". Offered: ${shown}${rest}.${reason}`);
}

function noFunctionOfServer({ server, name }: ServerChoice, { warnings: [warning] }: ToolOffer): GatewayError {
  const wanted = name === undefined ? 'function' : `function "${name.slice(0, 100)}"`;
  const reason = warning === undefined ? '' : ` ${warning.message}`;
  return refusal(`there is no ${wanted} of a server "${server.slice(0, 100)}".${reason}`);
}

function unknownForm(choice: JsonValue): GatewayError {
  return refusal(
    `${JSON.stringify(choice).slice(0, 100)} is not understood. Use "auto", "none", "required", ` +
      '{"type": "function", "function": {"name": "…"}}, or {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": […]}}.',
  );
}

function refusal(message: string): GatewayError {
  return invalidField('tool_choice', message);
}
