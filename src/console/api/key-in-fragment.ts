/** The key that a link gives the console, as `#key=…` at its end; null where there is none. */
export function keyInFragment(hash: string): string | null {
  return new URLSearchParams(hash.slice(1)).get('key');
}
