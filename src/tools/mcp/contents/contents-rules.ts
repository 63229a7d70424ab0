import { UriTemplate } from '@modelcontextprotocol/client';
import type { ContentsKind } from '../../../core/tools/server-contents.ts';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import { whyWithheld } from '../../servers/server-rules.ts';
import { comparableUri, placeOf } from './comparable-uri.ts';

/**
 * Whether the rules of a server about its functions let a resource, template or prompt through. Reading counts as `GET`; `function_name_filter_list`
 * names a prompt by its name, and a resource by its URI or by a template that it fits. A blocked URI is blocked in every spelling, because servers parse
 * URIs. Not by what the server lists: links in results lead to resources that are not listed.
 */
export function isWithheld(kind: ContentsKind, own: string, record: ToolServerRecord): boolean {
  const { functionFilter } = record;
  const isUri = kind !== 'prompts';
  const isBlocked = functionFilter.some((entry) => entry.startsWith('!') && isUri && blocks(entry.slice(1), kind, own));
  // An allowed template lets through what fits it as it is written, and still fits it as servers read it.
  const isAllowedBy = (entry: string): boolean =>
    kind === 'resources' && !entry.startsWith('!') && fits(own, entry) && fitsParsed(own, entry);
  const name = functionFilter.find(isAllowedBy) ?? own;
  return (
    isBlocked || whyWithheld({ operationId: name, spec: { name, description: '', parameters: {} }, method: 'GET' }, record) !== undefined
  );
}

function blocks(entry: string, kind: ContentsKind, own: string): boolean {
  if (kind === 'resources' && entry.includes('{')) return fits(own, entry) || fitsParsed(own, entry);
  const blocked = comparableUri(entry);
  const asked = comparableUri(own);
  const isSamePlace = asked.path === blocked.path && (asked.scheme === '' || asked.scheme === blocked.scheme);
  return isSamePlace && Array.from(blocked.query).every((parameter) => asked.query.has(parameter));
}

function fitsParsed(uri: string, template: string): boolean {
  const place = placeOf(comparableUri(uri));
  const pattern = placeOf(comparableUri(template));
  return place === pattern || fits(place, pattern);
}

function fits(uri: string, template: string): boolean {
  try {
    return template.includes('{') && new UriTemplate(template).match(uri) !== null;
  } catch {
    // An administrator may have written anything.
    return false;
  }
}
