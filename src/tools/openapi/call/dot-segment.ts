/**
 * Whether a server may take a segment of a path, decoded, for a step to the same folder or the one above: `.`, `..`, and the same with path
 * parameters, which Tomcat and its kin cut off before they resolve the path (`..;`, `..;x=1`).
 */
export function isDotSegment(segment: string): boolean {
  return /^\.{1,2}(?:;|$)/.test(segment);
}
