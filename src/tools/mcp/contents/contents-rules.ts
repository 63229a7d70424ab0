import { UriTemplate } from '@modelcontextprotocol/client';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import { whyWithheld } from '../../servers/server-rules.ts';

/**
 * Whether the rules of a server about its functions let a resource, template or prompt through. Reading counts as `GET`; `function_name_filter_list`
 * names a prompt by its name, and a resource by its URI or by a template that it fits.
 */
export function isWithheld(own: string, record: ToolServerRecord): boolean {
  const names = [own, ...templatesFor(own, record.functionFilter)];
  const isBlocked = names.some((name) => record.functionFilter.includes(`!${name}`));
  return isBlocked || names.every((name) => whyWithheld({ operationId: name, spec: specOf(name), method: 'GET' }, record) !== undefined);
}

function specOf(name: string): ToolSpec {
  return { name, description: '', parameters: {} };
}

/** The templates of a filter, whether they allow or block, that a URI fits. */
function templatesFor(uri: string, filter: readonly string[]): string[] {
  const templates = filter.map((entry) => entry.replace(/^!/, '')).filter((entry) => entry.includes('{'));
  return uri.includes('{') ? [] : templates.filter((template) => fits(uri, template));
}

function fits(uri: string, template: string): boolean {
  try {
    return new UriTemplate(template).match(uri) !== null;
  } catch {
    // An administrator may have written anything.
    return false;
  }
}
