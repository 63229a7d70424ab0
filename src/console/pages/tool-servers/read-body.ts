import { parseJson } from '../../parts/text/parse-json.ts';

export interface BodyPart {
  headers?: Readonly<Record<string, string>> | undefined;
  body?: string | undefined;
  body_encoding?: 'base64' | undefined;
}

/** A recorded body for people to read: JSON is indented, also within the events of a stream. Anything else stays as it is. */
export function readBody({ headers = {}, body = '', body_encoding: encoding }: BodyPart): { text: string; kind: string } {
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (encoding === 'base64') return { text: body, kind: `${type || 'Binary'} (base64)` };
  if (type === 'text/event-stream')
    return {
      text: body.replaceAll(/^(data: ?)(.*)$/gm, (_line, mark: string, data: string) => `${mark}${indented(data) ?? data}`),
      kind: 'Events',
    };
  const json = indented(body);
  return json === undefined ? { text: body, kind: type || 'Text' } : { text: json, kind: 'JSON' };
}

/** Undefined if it is not JSON. With numbers that JavaScript would change, the text stays as it is. */
function indented(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = parseJson(text);
    return /\d{16}|\d[eE.]\d*\d{15}/.test(text) ? text : JSON.stringify(value, null, 2);
  } catch {
    return undefined;
  }
}
