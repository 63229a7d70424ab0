import type { JsonValue } from '../../shared/json/json.ts';

/** The text of a result whose text and structure say different things. The structure follows, so that a limit cuts it first. */
export function withStructure(text: string, structured: JsonValue): string {
  return `${text}\n${toText(structured)}`;
}

/** The text without the structure; undefined if the structure does not follow it, because a hook or a limit has changed the result. */
export function withoutStructure(value: string, structured: JsonValue): string | undefined {
  const end = `\n${toText(structured)}`;
  return value.endsWith(end) ? value.slice(0, -end.length) : undefined;
}

function toText(structured: JsonValue): string {
  return JSON.stringify(structured, null, 2);
}
