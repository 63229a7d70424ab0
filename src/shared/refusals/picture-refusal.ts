/** The words of a refusal that name pictures; undefined if it names none. */
export function findPictureRefusal(message: string): string | undefined {
  return /\b(?:image[_ ]url|images?|pictures?|vision|multi-?modal|mmproj)\b/i.exec(message)?.[0];
}
