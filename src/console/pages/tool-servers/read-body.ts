import { parseJson } from '../../parts/text/parse-json.ts';
export interface BodyPart {
  headers?: Readonly<Record<string, string>> | undefined;
  body?: string | undefined;
  body_encoding?: 'base64' | undefined;
}

/** A recorded body as people read it: JSON in lines, also within the events of a stream; anything else as it is. */
export function readBody({ headers = {}, body = '', body_encoding: encoding }: BodyPart): { text: string; kind: string } {
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (encoding === 'base64') return { text: body, kind: `${type || 'Bytes'} in base64` };
  if (type === 'text/event-stream')
    return {
      text: body.replaceAll(/^(data: ?)(.*)$/gm, (_line, mark: string, data: string) => `${mark}${laidOut(data) ?? data}`),
      kind: 'Events',
    };
  const json = laidOut(body);
  return json === undefined ? { text: body, kind: type || 'Text' } : { text: json, kind: 'JSON' };
}

/** Undefined for what is no JSON. Numbers that JavaScript cannot hold would come out changed, so it then stays as it is. */
function laidOut(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = parseJson(text);
    return /\d{16}|\d[eE.]\d*\d{15}/.test(text) ? text : JSON.stringify(value, null, 2);
  } catch {
    return undefined;
  }
}
