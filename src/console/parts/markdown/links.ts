import type { Token, Tokens, TokensList } from 'marked';

/** URLs that a text defines, by their normalized names. */
export type Links = TokensList['links'];

/** Without a prototype, because the text chooses the names. */
export const noLinks = (...known: readonly Links[]): Links => Object.assign(Object.create(null), ...known) as Links;

/** Adds the links that a block defines. The first definition of a name wins. */
export function addLinksOf(token: Token, links: Links): void {
  const { type, tag, href, title, tokens, items } = token as Tokens.Generic & { items?: Token[] };
  if (type === 'def') links[tag as string] ??= { href: href as string, title: title as string };
  else if (['blockquote', 'list', 'list_item'].includes(type)) for (const inner of tokens ?? items ?? []) addLinksOf(inner, links);
}

/** Whether a text refers to a name whose URL has changed. */
export function isLinkedOtherwise(text: string, before: Links, after: Links): boolean {
  const changed = Object.keys(noLinks(before, after)).filter(
    (name) => before[name]?.href !== after[name]?.href || before[name]?.title !== after[name]?.title,
  );
  if (changed.length === 0) return false;
  const normalized = text.toLowerCase().replaceAll(/\s+/g, ' ');
  return changed.some((name) => normalized.includes(`[${name}]`));
}
