import { randomUUID } from 'node:crypto';
import { invalidField, type GatewayError } from '../../core/errors.ts';
import type { FormPiece } from './read-form.ts';

type Part = Extract<FormPiece, { type: 'part' }>;

interface FormForModelOptions {
  /** Called with the names of all other fields; refuses one by throwing. */
  checkField(name: string): void;
  /** Called when the whole form was sent. */
  onSent(): void;
}

/** UTF-8 of the longest id of a model. */
const maxModelBytes = 1_024;

/**
 * A form that names a model. It is read up to its field `model`; what stands before that is kept in memory. It is written anew, so that its backend
 * reads in it what the gateway has read.
 */
export class FormForModel {
  readonly contentType: string;
  readonly #boundary = `toolwharf-${randomUUID()}`;
  readonly #pieces: AsyncGenerator<FormPiece>;
  readonly #options: FormForModelOptions;
  readonly #before: Uint8Array[] = [];
  /** The part after the model, whose beginning ends it. */
  #next: Part | undefined;

  constructor(pieces: AsyncGenerator<FormPiece>, options: FormForModelOptions) {
    this.#pieces = pieces;
    this.#options = options;
    this.contentType = `multipart/form-data; boundary=${this.#boundary}`;
  }

  /** To be called once. @throws GatewayError `invalid_request` for a form without a model; what the pieces and `checkField` throw */
  async readModel(): Promise<string> {
    let model: Buffer | undefined;
    while (this.#next === undefined) {
      const { value: piece, done } = await this.#pieces.next();
      if (done === true) break;
      if (model === undefined && piece.type === 'part' && isModel(piece)) model = Buffer.alloc(0);
      else if (model === undefined) this.#before.push(this.#written(piece));
      else if (piece.type === 'part') this.#next = piece;
      else model = Buffer.concat([model, piece.bytes]);
      if (model !== undefined && model.length > maxModelBytes) throw refusal(`must have at most ${maxModelBytes} bytes`);
    }
    if (model === undefined || model.length === 0) throw refusal('must name a model');
    return model.toString();
  }

  /**
   * The whole form with another name of the model; to be called once, after `readModel`. What was not read yet is read as it is sent.
   * @throws GatewayError `invalid_request` for a form with two models; what the pieces and `checkField` throw
   */
  async *bytesFor(model: string): AsyncGenerator<Uint8Array> {
    yield* this.#before.splice(0);
    yield this.#headOf({ type: 'part', name: 'model', fileName: undefined, contentType: undefined });
    yield Buffer.from(model);
    if (this.#next !== undefined) yield this.#written(this.#next);
    for await (const piece of this.#pieces) yield this.#written(piece);
    yield Buffer.from(`\r\n--${this.#boundary}--\r\n`);
    this.#options.onSent();
  }

  #written(piece: FormPiece): Uint8Array {
    if (piece.type === 'bytes') return piece.bytes;
    if (isModel(piece)) throw refusal('appears twice in the form');
    this.#options.checkField(piece.name);
    return this.#headOf(piece);
  }

  /** The line end before the first boundary is an empty preamble. */
  #headOf({ name, fileName, contentType }: Part): Uint8Array {
    const file = fileName === undefined ? '' : `; filename="${fileName}"`;
    const type = contentType === undefined ? '' : `Content-Type: ${contentType}\r\n`;
    return Buffer.from(`\r\n--${this.#boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${type}\r\n`);
  }
}

/** In any case, because servers written in Go do not distinguish it. */
function isModel({ name }: Part): boolean {
  return name.toLowerCase() === 'model';
}

function refusal(reason: string): GatewayError {
  return invalidField('model', reason);
}
