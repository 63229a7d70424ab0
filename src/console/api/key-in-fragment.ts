/** The key in a link to the console that ends in `#key=…`. Null if there is none. */
export function keyInFragment(hash: string): string | null {
  return new URLSearchParams(hash.slice(1)).get('key');
}
