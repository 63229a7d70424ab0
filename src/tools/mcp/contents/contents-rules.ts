import { UriTemplate } from '@modelcontextprotocol/client';
import { LRUCache } from 'lru-cache';
import type { ContentsKind } from '../../../core/tools/server-contents.ts';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import { whyWithheld } from '../../definitions/server-rules.ts';
import { comparableUri, locationOf, type ComparableUri } from './comparable-uri.ts';

/**
 * Whether the rules of a server about its functions let a resource, template or prompt through. Reading counts as `GET`; `function_name_filter_list`
 * names a prompt by its name, and a resource by its URI or by a template that it fits. A blocked URI is blocked in every spelling, because servers parse
 * URIs. Not by what the server lists: links in results lead to resources that are not listed.
 */
export function isWithheld(kind: ContentsKind, own: string, record: ToolServerRecord): boolean {
  const { functionFilter } = record;
  const asked = askedUri(own);
  const isUri = kind !== 'prompts';
  const isBlocked = functionFilter.some((entry) => entry.startsWith('!') && isUri && blocks(entry.slice(1), kind, asked));
  // An allowed template lets through what fits it as it is written, and still fits it as servers read it.
  const isAllowedBy = (entry: string): boolean =>
    kind === 'resources' && !entry.startsWith('!') && fits(own, entry) && fitsParsed(asked, entry);
  const name = functionFilter.find(isAllowedBy) ?? own;
  return (
    isBlocked || whyWithheld({ operationId: name, spec: { name, description: '', parameters: {} }, method: 'GET' }, record) !== undefined
  );
}

/** Whether the rules of a server block the interface of an allowed function. An entry that blocks its URI does. */
export function isViewBlocked(own: string, { functionFilter }: ToolServerRecord): boolean {
  const asked = askedUri(own);
  return functionFilter.some((entry) => entry.startsWith('!') && blocks(entry.slice(1), 'resources', asked));
}

/** A URI with its comparable form, which is made once for all rules. */
interface AskedUri {
  own: string;
  comparable: () => ComparableUri;
}

function askedUri(own: string): AskedUri {
  let comparable: ComparableUri | undefined;
  return { own, comparable: () => (comparable ??= comparableUri(own)) };
}

/** Compiled rules of administrators, which are few. */
const comparableRules = new LRUCache<string, ComparableUri>({ max: 1_000 });

function comparableRule(entry: string): ComparableUri {
  const known = comparableRules.get(entry);
  if (known !== undefined) return known;
  const comparable = comparableUri(entry);
  comparableRules.set(entry, comparable);
  return comparable;
}

function blocks(entry: string, kind: ContentsKind, uri: AskedUri): boolean {
  if (kind === 'resources' && entry.includes('{')) return fits(uri.own, entry) || fitsParsed(uri, entry);
  const blocked = comparableRule(entry);
  const asked = uri.comparable();
  const isSameLocation = asked.path === blocked.path && (asked.scheme === '' || asked.scheme === blocked.scheme);
  return isSameLocation && Array.from(blocked.query).every((parameter) => asked.query.has(parameter));
}

function fitsParsed(uri: AskedUri, template: string): boolean {
  const location = locationOf(uri.comparable());
  const pattern = locationOf(comparableRule(template));
  return location === pattern || fits(location, pattern);
}

function fits(uri: string, template: string): boolean {
  try {
    return template.includes('{') && new UriTemplate(template).match(uri) !== null;
  } catch {
    // An administrator may have written anything.
    return false;
  }
}
