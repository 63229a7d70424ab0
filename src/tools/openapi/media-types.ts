/** How a body of a media type is built. */
type BodyFamily = 'json' | 'form' | 'multipart' | 'xml' | 'yaml' | 'text' | 'file';

export const formType = 'application/x-www-form-urlencoded';
export const multipartType = 'multipart/form-data';
/** No real media type is longer. */
const typeCharacters = 255;

/** The first that fits is sent: a merge patch is an object that a model can fill in, a JSON patch a list of instructions. */
const jsonPreferences: readonly RegExp[] = [
  /^application\/json$/,
  /^application\/merge-patch\+json$/,
  /^[^*]+(?<!json-patch)\+json$/,
  /^(?:text|application)\/(?:x-)?json$/,
  /^(?:\*|application)\/\*(?:\+json)?$/,
  /json$/,
];
/** Lines of JSON are a text that a model writes as it is. */
const jsonLines = /(?:ndjson|jsonl|json-?lines|json-seq|x-json-stream)$/;
const texts =
  /^text\/|^application\/(?:graphql|javascript|ecmascript|sql|sdp|jwt|jsonl|toml|csv|x-sh|pem-[\w-]+)$|ndjson|json-?lines|json-seq/;

/** The media types of a body in the order in which they are tried. */
export function preferredTypes(declared: readonly string[]): string[] {
  const types = declared.filter(isPrintable);
  const rank = (type: string): number => {
    const essence = essenceOf(type);
    const family = familyOf(essence);
    const preference = family === 'json' ? jsonPreferences.findIndex((pattern) => pattern.test(essence)) : -1;
    if (preference >= 0) return preference;
    return jsonPreferences.length + ['form', 'multipart', 'yaml', 'text', 'file', 'xml'].indexOf(family);
  };
  return types.toSorted((a, b) => rank(a) - rank(b));
}

export function familyOf(type: string): BodyFamily {
  const essence = essenceOf(type);
  if (essence === formType) return 'form';
  if (essence === multipartType) return 'multipart';
  if (/[/+]xml$/.test(essence)) return 'xml';
  if (/[/+](?:x-)?yaml$/.test(essence)) return 'yaml';
  if (!jsonLines.test(essence) && jsonPreferences.some((pattern) => pattern.test(essence))) return 'json';
  return texts.test(essence) ? 'text' : 'file';
}

/** Without parameters, in lower case. */
export function essenceOf(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** A range of types cannot be sent. */
export function isRange(type: string): boolean {
  return type.includes('*');
}

/** A header can hold it: spaces only beside a semicolon. */
export function isPrintable(type: string): boolean {
  if (type.length > typeCharacters) return false;
  const trimmed = type.trim();
  return /^[\u0020-\u007e]+$/.test(trimmed) && !/[^; ] +[^; ]/.test(trimmed);
}
