import { createHash } from 'node:crypto';

/** One part of a form (RFC 7578). With a `fileName` servers take it for a file. */
export interface BodyPart {
  name: string;
  content: string | Uint8Array;
  type?: string;
  fileName?: string;
}

/** The extensions by which servers know the most common files. */
const extensions: Record<string, string> = {
  'text/plain': 'txt',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
  'application/json': 'json',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  'application/xml': 'xml',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'audio/webm': 'webm',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
};

/** A name for a file that came without one: some servers go by its end alone. */
export function fileNameFor(field: string, type: string): string {
  const stem = field.replaceAll(/[^\p{L}\p{N}_-]+/gu, '_').slice(0, 64) || 'file';
  return `${stem}.${extensions[type] ?? 'bin'}`;
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
