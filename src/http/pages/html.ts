/** Markup. Text, in contrast, is escaped. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type HtmlValue = Html | string | number | false | undefined | readonly Html[];

/** A template whose values are escaped, in text and in quoted attributes. Markup stays as it is. `false` and undefined become empty. */
export function html(literals: TemplateStringsArray, ...parts: readonly HtmlValue[]): Html {
  return new Html(String.raw({ raw: literals }, ...parts.map(toMarkup)));
}

function toMarkup(part: HtmlValue): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.markup;
  return typeof part === 'object' ? part.map(({ markup }) => markup).join('\n') : escapeText(String(part));
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');
}
