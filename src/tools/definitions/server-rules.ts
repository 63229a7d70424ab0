import { isMeantBy } from '../../core/user-input/approval.ts';
import type { RequestToolServer } from '../../core/chat/chat.ts';
import { isJsonObject, ownValue, type JsonValue } from '../../shared/json/json.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { Tool } from '../../core/tools/tool.ts';
import type { Operation } from './operation.ts';

/** A server's settings about its functions: which are withheld, and which need approval. */
export type ServerRules = Pick<ToolServerRecord, 'extra' | 'tags' | 'functionFilter'>;

/** The function that rules are applied to. */
type Ruled = Pick<Operation, 'operationId' | 'spec' | 'tags'> & {
  /** Undefined: unknown, so a rule that requires certain methods withholds the function. */
  method: string | undefined;
};

/** The same settings of a server that a request supplies. */
export function rulesOfRequest({ config = {} }: Pick<RequestToolServer, 'config'>): ServerRules {
  return {
    extra: { config },
    tags: namesIn(ownValue(config, 'tags')),
    functionFilter: namesIn(ownValue(config, 'function_name_filter_list')),
  };
}

/** Safe methods have no side effects (RFC 9110, section 9.2.1). */
export function isSafeMethod(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** An array, or a comma-separated string as Open WebUI writes it. */
function namesIn(value: JsonValue | undefined): string[] {
  const entries = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [];
  return entries.flatMap((entry) => (typeof entry === 'string' && entry.trim() !== '' ? [entry.trim()] : []));
}

export function configValue({ extra }: Pick<ServerRules, 'extra'>, key: string): JsonValue | undefined {
  const config = ownValue(extra, 'config');
  return isJsonObject(config) ? ownValue(config, key) : undefined;
}

/**
 * Applies `needs_approval`: true for all functions, or names of functions: the document's, the legal ones, or those under which they may be offered.
 */
function withServerApproval(tool: Tool, otherNames: readonly string[], rules: ServerRules): Tool {
  const wanted = configValue(rules, 'needs_approval');
  const rule = Array.isArray(wanted) ? wanted.filter((name) => typeof name === 'string') : wanted === true;
  const isMeant = isMeantBy(rule, [tool.spec.name, tool.label, ...otherNames, `server:${tool.label}`]);
  return isMeant ? { ...tool, needsApproval: true } : tool;
}

/**
 * Applies a server's rules to a tool: approval, parallel calls and repeated calls. `otherNames`: further names by which the rules may refer to it.
 */
export function withServerRules(tool: Tool, otherNames: readonly string[], rules: ServerRules): Tool {
  const ruled = withServerApproval(tool, otherNames, rules);
  return {
    ...ruled,
    ...(configValue(rules, 'parallel') === true && { isParallel: true }),
    ...(configValue(rules, 'repeats') === true && { mayRepeat: true }),
  };
}

/**
 * Why the rules withhold a function; undefined if they do not. Names match exactly, the document's or the legal one: `search` must not let
 * `web_search` through.
 */
export function whyWithheld({ operationId, spec, method, tags = [] }: Ruled, rules: ServerRules): string | undefined {
  const shown = method ?? 'unknown';
  if (configValue(rules, 'read_only') === true && !isSafeMethod(method))
    return `read_only allows only GET and HEAD, and the method is ${shown}`;
  const methods = configValue(rules, 'methods');
  const isOneOf = (entry: JsonValue): boolean => typeof entry === 'string' && entry.toUpperCase() === method;
  if (Array.isArray(methods) && methods.length > 0 && !methods.some(isOneOf)) return `methods does not include ${shown}`;
  const byTag = judge(tags, rules.tags);
  if (byTag.type === 'blocked') return `tags blocks "${byTag.name}"`;
  if (byTag.type === 'not named') return 'none of its tags is listed in tags';
  const byName = judge([operationId, spec.name], rules.functionFilter);
  if (byName.type === 'blocked') return 'function_name_filter_list blocks it';
  return byName.type === 'not named' ? 'function_name_filter_list does not include it' : undefined;
}

/** Plain entries of a filter allow and `!entry` blocks; blocking wins. Case-sensitive. */
function judge(names: readonly string[], filter: readonly string[]): { type: 'allowed' | 'not named' } | { type: 'blocked'; name: string } {
  const blocked = names.find((name) => filter.includes(`!${name}`));
  if (blocked !== undefined) return { type: 'blocked', name: blocked };
  const allowed = filter.filter((entry) => !entry.startsWith('!'));
  return { type: allowed.length === 0 || names.some((name) => allowed.includes(name)) ? 'allowed' : 'not named' };
}
