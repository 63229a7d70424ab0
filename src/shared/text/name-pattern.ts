/** Lists of names are compared exactly, so an entry like `delete_*` matches nothing. Templates of URIs (`{path*}`) are no patterns. */
function isPattern(entry: string): boolean {
  return entry.replaceAll(/\{[^{}]*\}/g, '').includes('*');
}

/** A rule that protects must not be written as a pattern: it would protect nothing. For schemas of `needs_approval`. */
export const approvalsByName = {
  test: (rule: boolean | readonly string[]): boolean => typeof rule === 'boolean' || !rule.some(isPattern),
  problem:
    'must name whole functions, because a pattern such as "*" or "delete_*" matches none; set it to true to require approval for all',
};

/** The same for lists in which `!entry` blocks. An allowed pattern allows nothing, which nobody overlooks. */
export const blocksByName = {
  test: (entries: string | readonly string[]): boolean =>
    !(typeof entries === 'string' ? entries.split(',') : entries).some((entry) => entry.trim().startsWith('!') && isPattern(entry)),
  problem: 'must block whole names, because a pattern such as "!*" or "!delete_*" blocks nothing; name each one',
};
