import { isJsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { ToolFile } from '../../core/tools/tool.ts';

/** Files that are extracted from one result, because a client shows each of them; further ones stay in its text. */
export const resultFiles = 1_000;

/** Media type, parameters, and whether the rest is base64 (RFC 2397). */
const dataAddress = /^data:(?<type>[a-z0-9.+-]{1,64}\/[a-z0-9.+-]{1,64})?(?:;[a-z0-9._-]{1,64}=[^;,]{0,128}){0,8}(?<base64>;base64)?,/i;

/**
 * Takes the `data:` URIs (RFC 2397) out of a result, at any depth, as files for the client. The model reads a note instead, because one image would fill
 * its context; a URI that is shorter than its note stays in the text. Returns the same value if it has none. The recursion depth is limited by the
 * parser.
 */
export function extractDataUris(value: JsonValue): { value: JsonValue; files: ToolFile[] } {
  const files: ToolFile[] = [];
  return { value: extractFrom(value, files), files };
}

function extractFrom(value: JsonValue, files: ToolFile[]): JsonValue {
  if (typeof value === 'string') return extractFile(value, files);
  if (Array.isArray(value)) {
    const entries = value.map((entry) => extractFrom(entry, files));
    return entries.every((entry, index) => entry === value[index]) ? value : entries;
  }
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, entry]) => [key, entry === undefined ? entry : extractFrom(entry, files)] as const);
  return entries.every(([key, entry]) => entry === value[key]) ? value : Object.fromEntries(entries);
}

function extractFile(text: string, files: ToolFile[]): string {
  if (text[4] !== ':' || files.length >= resultFiles) return text;
  const found = dataAddress.exec(text.slice(0, 2_048));
  if (found === null) return text;
  const { type = 'text/plain', base64 } = found.groups ?? {};
  const data = text.slice(found[0].length);
  const sizeBytes = base64 === undefined ? data.length : Buffer.byteLength(data, 'base64');
  const mention = `[file ${files.length + 1}: ${type}, ${Math.ceil(sizeBytes / 1024)} kB, not shown here]`;
  files.push({ type, url: text, sizeBytes, mention });
  return mention.length < text.length ? mention : text;
}
