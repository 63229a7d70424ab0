import type { Token, Tokens, TokensList } from 'marked';

/** Addresses that a text has defined, by their normalised names. */
export type Links = TokensList['links'];

/** Names of a text are no names of objects. */
export const noLinks = (...known: readonly Links[]): Links => Object.assign(Object.create(null), ...known) as Links;

/** Adds those that a block defines; the first one of a name holds. */
export function addLinksOf(token: Token, links: Links): void {
  const { type, tag, href, title, tokens, items } = token as Tokens.Generic & { items?: Token[] };
  if (type === 'def') links[tag as string] ??= { href: href as string, title: title as string };
  else if (['blockquote', 'list', 'list_item'].includes(type)) for (const inner of tokens ?? items ?? []) addLinksOf(inner, links);
}

/** Whether a text refers to a name that has another address afterwards. */
export function isLinkedOtherwise(text: string, before: Links, after: Links): boolean {
  const changed = Object.keys(noLinks(before, after)).filter(
    (name) => before[name]?.href !== after[name]?.href || before[name]?.title !== after[name]?.title,
  );
  if (changed.length === 0) return false;
  const normalised = text.toLowerCase().replaceAll(/\s+/g, ' ');
  return changed.some((name) => normalised.includes(`[${name}]`));
}
