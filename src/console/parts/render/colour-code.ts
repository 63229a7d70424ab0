import highlighter from 'highlight.js/lib/core';
import { findLanguage, loadLanguage } from './code-languages.ts';
import type { CodeKind, CodeSpan } from './render-messages.ts';

/** What highlight.js calls the parts of code. The others have no colour. */
const kinds: Readonly<Record<string, CodeKind>> = {
  addition: 'added',
  attr: 'attribute',
  attribute: 'attribute',
  built_in: 'type',
  bullet: 'meta',
  class: 'type',
  comment: 'comment',
  deletion: 'removed',
  doctag: 'comment',
  keyword: 'keyword',
  link: 'string',
  literal: 'number',
  meta: 'meta',
  name: 'keyword',
  number: 'number',
  property: 'attribute',
  quote: 'comment',
  regexp: 'string',
  section: 'title',
  'selector-attr': 'attribute',
  'selector-class': 'title',
  'selector-id': 'title',
  'selector-pseudo': 'title',
  'selector-tag': 'keyword',
  string: 'string',
  symbol: 'number',
  tag: 'keyword',
  title: 'title',
  type: 'type',
  variable: 'attribute',
};

/** A part of the library's tree. */
type Part = string | { scope?: string; children: readonly Part[] };

/** The code in pieces, each with its kind. Undefined if the language is unknown. */
export async function colourCode(code: string, given: string): Promise<readonly CodeSpan[] | undefined> {
  const language = findLanguage(given);
  if (language === undefined) return undefined;
  if (highlighter.getLanguage(language) === undefined) {
    const definition = await loadLanguage(language);
    if (definition === undefined) return undefined;
    highlighter.registerLanguage(language, definition);
  }
  const { _emitter: emitter } = highlighter.highlight(code, { language, ignoreIllegals: true });
  const spans: [CodeKind | '', string][] = [];
  addSpans((emitter as unknown as { root: Part }).root, '', spans);
  return spans;
}

function addSpans(part: Part, outer: CodeKind | '', spans: [CodeKind | '', string][]): void {
  if (typeof part === 'string') {
    const last = spans.at(-1);
    if (last?.[0] === outer) last[1] += part;
    else spans.push([outer, part]);
    return;
  }
  const [name = ''] = (part.scope ?? '').split('.', 1);
  const kind = Object.hasOwn(kinds, name) ? (kinds[name] ?? outer) : outer;
  for (const child of part.children) addSpans(child, kind, spans);
}
