/**
 * Replaces `{{NAME}}` in one pass: what is put in is never looked at again, so that a user, a document or a model
 * who writes `{{TOOLS}}` gets those letters and nothing else. Unknown names stay as they are.
 */
export function expandTemplate(template: string, values: ReadonlyMap<string, string>): string {
  return template.replaceAll(/\{\{\s*([A-Za-z0-9_]{1,64})\s*\}\}/g, (written, name: string) => values.get(name) ?? written);
}

/** Keys may come bare or in braces, as Open WebUI's `variables` do (`{{USER_NAME}}`). */
export function templateValues(variables: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries(variables).map(([key, value]) => [key.replaceAll(/^\{\{\s*|\s*\}\}$/g, ''), value]));
}
