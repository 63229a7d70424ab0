import { GatewayError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';

/**
 * Replaces `{{NAME}}` in one pass: what is put in is never looked at again, so that a user, a document or a model
 * who writes `{{TOOLS}}` gets those letters and nothing else. Unknown names stay as they are.
 * @throws GatewayError `invalid_request` when many placeholders for a long value would make a text that no model could read.
 */
export function expandTemplate(template: string, values: ReadonlyMap<string, string>): string {
  let added = 0;
  return template.replaceAll(/\{\{\s*([A-Za-z0-9_]{1,64})\s*\}\}/g, (written, name: string) => {
    const value = values.get(name);
    if (value === undefined) return written;
    added += value.length;
    if (added > limits.bodyBytes)
      throw new GatewayError('invalid_request', 'variables: the text they are put into becomes too long.', { param: 'variables' });
    return value;
  });
}

/** Keys may come bare or in braces, as Open WebUI's `variables` do (`{{USER_NAME}}`). */
export function templateValues(variables: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries(variables).map(([key, value]) => [key.replaceAll(/^\{\{\s*|\s*\}\}$/g, ''), value]));
}
