import { invalidField } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';

/** The most placeholders replaced in one request: far more than any prompt has, and a few milliseconds of work. */
const maxPlaceholders = 20_000;

/** The remaining budget for replacements. */
interface TemplateBudget {
  placeholders: number;
  characters: number;
}

export function createTemplateBudget(): TemplateBudget {
  return { placeholders: maxPlaceholders, characters: limits.bodyBytes };
}

/**
 * Replaces `{{NAME}}` in a single pass. Inserted text is never expanded, so `{{TOOLS}}` written by a user, a document or a model stays as it is.
 * Unknown names stay as they are. `budget`: shared by several templates. @throws GatewayError `invalid_request` for too many placeholders,
 * or if their values make the text too long
 */
export function expandTemplate(template: string, values: ReadonlyMap<string, string>, budget = createTemplateBudget()): string {
  let text = '';
  let end = 0;
  // Incrementally: `replaceAll` would find all matches before it replaces the first.
  for (const { 0: written, 1: name = '', index } of template.matchAll(/\{\{\s*([A-Za-z0-9_]{1,64})\s*\}\}/g)) {
    const value = values.get(name);
    budget.placeholders -= 1;
    budget.characters -= value?.length ?? 0;
    if (budget.placeholders < 0)
      throw invalidField(
        'variables',
        `the prompts of this request contain more than ${maxPlaceholders} placeholders such as {{NAME}}. Use fewer.`,
      );
    if (budget.characters < 0) throw invalidField('variables', 'the text becomes too long with their values. Send shorter values.');
    text += template.slice(end, index) + (value ?? written);
    end = index + written.length;
  }
  return text + template.slice(end);
}

const noValues: ReadonlyMap<string, string> = new Map();

/** Keys may be bare or in braces, as in Open WebUI's `variables` (`{{USER_NAME}}`). */
export function templateValues(variables: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const entries = Object.entries(variables);
  if (entries.length === 0) return noValues;
  return new Map(entries.map(([key, value]) => [bareName(key), value]));
}

/** No regular expression: trimming white space at the end with one takes quadratic time. */
function bareName(key: string): string {
  const opened = key.startsWith('{{') ? key.slice(2).trimStart() : key;
  return opened.endsWith('}}') ? opened.slice(0, -2).trimEnd() : opened;
}
