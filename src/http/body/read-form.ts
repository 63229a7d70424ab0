import { GatewayError } from '../../core/errors.ts';

/** Fields and files of a form; sixteen images with masks fit. */
export const formParts = 128;
/** The headers of one part: its name, file name and type. */
const formPartHeadBytes = 8 * 1024;

/** What a form consists of, in order: the beginning of a part, then the bytes of its content. */
export type FormPiece =
  | { type: 'part'; name: string; fileName: string | undefined; contentType: string | undefined }
  | { type: 'bytes'; bytes: Buffer };

const headEnd = Buffer.from('\r\n\r\n');

/** The boundary in a content type of `multipart/form-data` (RFC 2046, section 5.1.1). @throws GatewayError `invalid_request` */
export function boundaryIn(contentType: string): string {
  const { quoted, plain } = /;\s*boundary=(?:"(?<quoted>[^"\\]{1,70})"|(?<plain>[^\s;"]{1,70}))\s*(?:;|$)/i.exec(contentType)?.groups ?? {};
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw malformed('its content type has no boundary of 1 to 70 characters');
  return boundary;
}

/**
 * Reads a form (RFC 7578) as it arrives; holds no more of it than one boundary or the headers of one part.
 * @throws GatewayError `invalid_request`, `payload_too_large` above `maxBytes`
 */
export async function* readForm(body: AsyncIterable<unknown>, boundary: string, maxBytes: number): AsyncGenerator<FormPiece> {
  const scanner = new FormScanner(boundary);
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    yield* scanner.scan(piece);
  }
  if (!scanner.isAtEnd) throw malformed('it ends before its last boundary');
}

/** What is looked for next. `boundary`: what follows it. */
type FormState = 'before' | 'boundary' | 'head' | 'content' | 'after';

class FormScanner {
  readonly #delimiter: Buffer;
  /** Begins as if a line had ended before the body, so that the first boundary is like the others. */
  #rest: Buffer = Buffer.from('\r\n');
  #state: FormState = 'before';
  #parts = 0;

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  get isAtEnd(): boolean {
    return this.#state === 'after';
  }

  *scan(bytes: Buffer): Generator<FormPiece> {
    if (this.isAtEnd) return;
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (let step = this.#step(); step !== 'wait'; step = this.#step()) if (step !== 'on') yield step;
  }

  #step(): FormPiece | 'on' | 'wait' {
    switch (this.#state) {
      case 'before':
      case 'content':
        return this.#readContent(this.#state);
      case 'boundary':
        return this.#readMark();
      case 'head':
        return this.#readHead();
      case 'after':
        return 'wait';
    }
  }

  #take(bytes: number): Buffer {
    const taken = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    return taken;
  }

  #readContent(state: 'before' | 'content'): FormPiece | 'on' | 'wait' {
    const end = this.#rest.indexOf(this.#delimiter);
    // The end of what has arrived may be the beginning of a boundary.
    const bytes = this.#take(end === -1 ? Math.max(0, this.#rest.length - this.#delimiter.length + 1) : end);
    if (state === 'content' && bytes.length > 0) return { type: 'bytes', bytes };
    if (end === -1) return 'wait';
    this.#take(this.#delimiter.length);
    this.#state = 'boundary';
    return 'on';
  }

  #readMark(): 'on' | 'wait' {
    const mark = this.#rest.subarray(0, 2).toString('latin1');
    if (mark.length < 2) return 'wait';
    if (mark !== '--' && mark !== '\r\n') throw malformed('a boundary is not followed by a line end');
    this.#state = mark === '--' ? 'after' : 'head';
    return 'on';
  }

  /** The head begins with the end of the boundary's line, so that one without headers has an end too. */
  #readHead(): FormPiece | 'wait' {
    const end = this.#rest.indexOf(headEnd);
    const bytes = end === -1 ? this.#rest.length : end;
    if (bytes > formPartHeadBytes) throw malformed(`a part has headers of more than ${formPartHeadBytes} bytes`);
    if (end === -1) return 'wait';
    this.#parts += 1;
    if (this.#parts > formParts) throw malformed(`it has more than ${formParts} parts`);
    const head = this.#take(end).toString('utf8');
    this.#take(headEnd.length);
    this.#state = 'content';
    return toPart(head);
  }
}

function toPart(head: string): FormPiece {
  const headers = new Map<string, string>();
  for (const line of head.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    if (colon < 1 || controlCharacter.test(line)) throw malformed('a part has a malformed header');
    headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const parameters = parametersIn(headers.get('content-disposition') ?? '');
  const name = parameters.get('name');
  // A backslash in a name is read in more ways than one.
  if (name === undefined || name.includes('\\')) throw malformed('a part has no name');
  const fileName = parameters.get('filename') ?? extendedValue(parameters.get('filename*'));
  return { type: 'part', name, fileName: fileName?.replaceAll(ambiguous, '_'), contentType: headers.get('content-type') };
}

/** In the name of a file: some readers end it at an escaped quote, where another parameter would follow. */
const ambiguous = /["\\\p{Cc}]/gu;
/** Any but the tab. */
const controlCharacter = /[^\P{Cc}\t]/u;

/** `form-data; name="file"; filename="a.mp3"`; values as they are written between their quotes. Undefined names mean that it is no form. */
function parametersIn(disposition: string): Map<string, string> {
  const parameters = new Map<string, string>();
  const [type = ''] = /^form-data(?=\s*;)/i.exec(disposition) ?? [];
  if (type === '') return parameters;
  const parameter = /\s*;\s*(?<name>[\w-]+\*?)=(?:"(?<quoted>(?:[^"\\]|\\.)*)"|(?<plain>[^\s;"]*))/y;
  parameter.lastIndex = type.length;
  for (let found = parameter.exec(disposition); found !== null; found = parameter.exec(disposition)) {
    const { name = '', quoted, plain = '' } = found.groups ?? {};
    const key = name.toLowerCase();
    if (parameters.has(key)) throw malformed(`a part has two parameters "${key}"`);
    parameters.set(key, quoted ?? plain);
  }
  return parameters;
}

/** A name in UTF-8 (RFC 5987), in the quoted form of browsers. */
function extendedValue(value: string | undefined): string | undefined {
  const encoded = /^utf-8'[^']*'(?<text>[\w.~!$&+^`|%-]*)$/i.exec(value ?? '')?.groups?.['text'];
  if (encoded === undefined) return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

function malformed(reason: string): GatewayError {
  return new GatewayError('invalid_request', `The form is malformed: ${reason}.`);
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('payload_too_large', `The form has more than ${maxBytes} bytes. Send a smaller file, or raise BODY_LIMIT_BYTES.`);
}
