import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

/** Media type with parameters, `;base64`, data (RFC 2397 section 3). */
const dataUri = /^\s*data:[^,;]{0,200}(?:;[^,;]{1,500}){0,8},/i;
const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/**
 * What a `data:` URI holds, as the base64 that a schema wants (`format: byte`, `contentEncoding: base64`): models know one form for files. Undefined where
 * the schema takes other texts too, and for damaged data.
 */
export function plainBase64(text: string, schema: JsonObject, resolve: (stated: JsonValue) => JsonValue | undefined): string | undefined {
  const head = dataUri.exec(text)?.[0];
  const alphabet = head === undefined ? undefined : encodingOf(schema, resolve);
  if (head === undefined || alphabet === undefined) return undefined;
  const data = text.slice(head.length).replaceAll(/\s|%0[ad]/gi, '');
  if (!/;\s*base64\s*,$/i.test(head)) return encodePercent(text.slice(head.length), alphabet);
  const plain = data.replaceAll(/%3d/gi, '=').replaceAll(/%2b/gi, '+').replaceAll(/%2f/gi, '/');
  return base64.test(plain) ? Buffer.from(plain, 'base64').toString(alphabet) : undefined;
}

function encodePercent(data: string, alphabet: BufferEncoding): string | undefined {
  try {
    return Buffer.from(decodeURIComponent(data)).toString(alphabet);
  } catch {
    return undefined;
  }
}

/** Of the texts that the schema, or each of its alternatives for texts, takes. */
function encodingOf(schema: JsonObject, resolve: (stated: JsonValue) => JsonValue | undefined): 'base64' | 'base64url' | undefined {
  const stated = [ownValue(schema, 'format'), ownValue(schema, 'contentEncoding')];
  if (stated.includes('base64url')) return 'base64url';
  if (stated.includes('byte') || stated.includes('base64')) return 'base64';
  const branches = [ownValue(schema, 'anyOf') ?? ownValue(schema, 'oneOf') ?? []].flat().map((branch) => resolve(branch ?? null));
  const texts = branches.filter(
    (branch) => isJsonObject(branch) && (branch['type'] === undefined || [branch['type']].flat().includes('string')),
  );
  const encodings = new Set(texts.map((branch) => (isJsonObject(branch) && branch !== schema ? encodingOfOne(branch) : undefined)));
  const [only, ...others] = encodings;
  return others.length === 0 ? only : undefined;
}

function encodingOfOne(schema: JsonObject): 'base64' | 'base64url' | undefined {
  return encodingOf(
    { format: ownValue(schema, 'format') ?? null, contentEncoding: ownValue(schema, 'contentEncoding') ?? null },
    () => undefined,
  );
}
