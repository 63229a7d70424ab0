import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';

/** Placeholders that are replaced in one request: far more than a prompt has, and a few milliseconds. */
const mostPlaceholders = 20_000;

/** What may still be put in. */
export interface TemplateRoom {
  placeholders: number;
  characters: number;
}

export function templateRoom(): TemplateRoom {
  return { placeholders: mostPlaceholders, characters: limits.bodyBytes };
}

/**
 * Replaces `{{NAME}}` in one pass: what is put in is never looked at again, so that a user, a document or a model
 * who writes `{{TOOLS}}` gets those letters and nothing else. Unknown names stay as they are.
 * @throws GatewayError `invalid_request` when there are too many placeholders, or their values would make a text that no model could read. `room`:
 * what several templates have together.
 */
export function expandTemplate(template: string, values: ReadonlyMap<string, string>, room = templateRoom()): string {
  let text = '';
  let end = 0;
  // One after the other: `replaceAll` finds all of them before it asks about the first.
  for (const { 0: written, 1: name = '', index } of template.matchAll(/\{\{\s*([A-Za-z0-9_]{1,64})\s*\}\}/g)) {
    const value = values.get(name);
    room.placeholders -= 1;
    room.characters -= value?.length ?? 0;
    if (room.placeholders < 0)
      throw new GatewayError(
        'invalid_request',
        `variables: the prompts of this request hold more than ${mostPlaceholders} placeholders such as {{NAME}}. Send fewer.`,
        {
          param: 'variables',
        },
      );
    if (room.characters < 0)
      throw new GatewayError('invalid_request', 'variables: the text they are put into becomes too long.', { param: 'variables' });
    text += template.slice(end, index) + (value ?? written);
    end = index + written.length;
  }
  return text + template.slice(end);
}

/** Keys may come bare or in braces, as Open WebUI's `variables` do (`{{USER_NAME}}`). */
export function templateValues(variables: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries(variables).map(([key, value]) => [bareName(key), value]));
}

/** No pattern: one for white space before an end takes the square of it. */
function bareName(key: string): string {
  const opened = key.startsWith('{{') ? key.slice(2).trimStart() : key;
  return opened.endsWith('}}') ? opened.slice(0, -2).trimEnd() : opened;
}
