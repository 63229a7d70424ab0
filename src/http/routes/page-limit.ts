import { z } from 'zod';

/** `limit` in the query of a list: how many entries a page has. */
export function pageLimit(max = Number.MAX_SAFE_INTEGER): z.ZodCoercedNumber {
  const words = max === Number.MAX_SAFE_INTEGER ? 'must be a whole number above zero' : `must be a whole number from 1 to ${max}`;
  return z.coerce.number(words).int(words).min(1, words).max(max, words);
}
