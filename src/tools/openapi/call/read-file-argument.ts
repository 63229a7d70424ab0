import { ArgumentError } from './argument-error.ts';

/** A file as a model gave it. */
interface FileArgument {
  bytes: string | Uint8Array;
  /** Absent: the model did not say. */
  type?: string;
  name?: string;
}

/** Scheme, media type with parameters, `;base64`, data (RFC 2397 section 3). */
const dataUri = /^data:([^,]{0,1000}?)(;base64)?,/i;
const mediaType = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;

/**
 * A text as it is, or the bytes of a `data:` URI, whose parameters `name` or `filename` name the file.
 * @throws ArgumentError when the base64 is damaged.
 */
export function readFileArgument(argument: string, text: string): FileArgument {
  const head = dataUri.exec(text);
  if (head === null) return { bytes: text };
  const [type = '', ...parameters] = (head[1] ?? '').split(';').map((part) => part.trim());
  const name = parameters.map((parameter) => /^(?:file)?name=(.+)$/i.exec(parameter)?.[1]).find((found) => found !== undefined);
  const data = text.slice(head[0].length);
  return {
    bytes: head[2] === undefined ? decodePercent(argument, data) : decodeBase64(argument, data),
    ...(mediaType.test(type) && { type: type.toLowerCase() }),
    ...(name !== undefined && { name: unquoted(name) }),
  };
}

function decodeBase64(argument: string, data: string): Uint8Array {
  const cleaned = data
    .replaceAll(/\s|%0[ad]/gi, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replaceAll(/%3d/gi, '=');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(cleaned) || cleaned.replaceAll('=', '').length % 4 === 1)
    throw new ArgumentError(`${argument}: the base64 of its data: URI is damaged; send it again`);
  return Buffer.from(cleaned, 'base64');
}

function decodePercent(argument: string, data: string): string {
  try {
    return decodeURIComponent(data);
  } catch {
    throw new ArgumentError(`${argument}: the percent-encoding of its data: URI is damaged; send base64 instead`);
  }
}

function unquoted(name: string): string {
  const plain = name.replaceAll('"', '');
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}
