import { createHash } from 'node:crypto';

/** One part of a form (RFC 7578). With a `fileName` servers take it for a file. */
export interface BodyPart {
  name: string;
  content: string | Uint8Array;
  type?: string;
  fileName?: string;
}

/** Subtypes that are the usual extension of their files, and the extensions of others. */
const sameExtension = /^(?:text|application|image|audio|video)\/(csv|html|json|pdf|zip|xml|png|gif|webp|wav|ogg|flac|webm|mp4)$/;
const extensions: Record<string, string> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
  'audio/mpeg': 'mp3',
};

/** A name for an unnamed file: some servers decide by the extension only. */
export function fileNameFor(field: string, type: string): string {
  const stem = field.replaceAll(/[^\p{L}\p{N}_-]+/gu, '_').slice(0, 64) || 'file';
  return `${stem}.${extensions[type] ?? sameExtension.exec(type)?.[1] ?? 'bin'}`;
}

/**
 * A `multipart/form-data` body (RFC 7578, RFC 2046 section 5.1.1); a text where all parts are texts. The boundary is a digest of the parts, so that
 * equal calls make equal requests, and that no part can hold it.
 */
export function multipartBody(parts: readonly BodyPart[]): { type: string; content: string | Uint8Array } {
  const hash = createHash('sha256');
  for (const { name, content } of parts) hash.update(name.toWellFormed()).update('\0').update(content).update('\0');
  const boundary = `toolwharf-${hash.digest('hex').slice(0, 32)}`;
  const pieces = parts.flatMap((part): (string | Uint8Array)[] => [`--${boundary}\r\n${headOf(part)}\r\n`, part.content, '\r\n']);
  pieces.push(`--${boundary}--\r\n`);
  const isText = pieces.every((piece) => typeof piece === 'string');
  const content = isText ? pieces.join('') : Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
  return { type: `multipart/form-data; boundary=${boundary}`, content };
}

function headOf({ name, type, fileName }: BodyPart): string {
  const file = fileName === undefined ? '' : `; filename="${quoted(fileName)}"`;
  const disposition = `Content-Disposition: form-data; name="${quoted(name)}"${file}\r\n`;
  return type === undefined ? disposition : `${disposition}Content-Type: ${type}\r\n`;
}

/** As browsers do it (HTML, section 4.10.22.8): a quote or a line break would end the name. */
function quoted(text: string): string {
  return text.toWellFormed().replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('\0', '');
}
