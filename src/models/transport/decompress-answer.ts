import { pipeline, Readable, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { GatewayError, OutboundError } from '../../core/errors.ts';
import type { OutboundBody, OutboundResponse } from '../../core/outbound.ts';
import { GeneratedBody } from './generated-body.ts';

/** The most bytes of one answer after decompression; the limits of what reads them are mostly lower. */
const decompressedBytes = 64 * 1024 * 1024;

/** 8 MB, as RFC 9659 has it: five kilobytes may name a window of 128 MB, which a stream would hold as long as it is open. */
const zstdWindow = { [constants.ZSTD_d_windowLogMax]: 23 };

const decoders: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
  ['zstd', () => createZstdDecompress({ params: zstdWindow })],
]);

/**
 * The same answer without compression. The gateway asks for none, but proxies in front of backends compress nevertheless.
 * @throws GatewayError `upstream_invalid_response` for an encoding that is not known
 */
export function decompressAnswer(response: OutboundResponse, backendName: string): OutboundResponse {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return response;
  const decoder = decoders.get(encoding);
  if (decoder === undefined) {
    const shown = encoding.slice(0, 60);
    throw invalid(backendName, `compresses its answer with "${shown}" although the gateway asks for no compression. Turn that off there.`);
  }
  const { 'content-encoding': _encoding, 'content-length': _length, ...headers } = response.headers;
  return { ...response, headers, body: new GeneratedBody(decompressed(response.body, decoder(), backendName), response.body) };
}

async function* decompressed(body: OutboundBody, decoder: Transform, backendName: string): AsyncGenerator<Uint8Array, void> {
  // Its failures are thrown by the loop.
  pipeline(Readable.from(body, { objectMode: false }), decoder, () => undefined);
  let size = 0;
  try {
    for await (const piece of decoder as AsyncIterable<Uint8Array>) {
      size += piece.byteLength;
      if (size > decompressedBytes) throw invalid(backendName, `sends more than ${decompressedBytes} bytes in one compressed answer.`);
      yield piece;
    }
  } catch (error) {
    throw isOfDecoder(error) ? toFault(error, backendName) : error;
  } finally {
    body.close();
  }
}

function isOfDecoder(error: unknown): error is Error & { code: string } {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    /^(?:Z_|ERR_(?:BROTLI|_ERROR|ZSTD)|ZSTD_)/u.test(error.code)
  );
}

function toFault(error: Error & { code: string }, backendName: string): Error {
  if (error.code === 'Z_BUF_ERROR') return new OutboundError('cut', 'The compressed answer ends too early.', error);
  return invalid(backendName, 'sends a compressed answer that cannot be read. Turn compression off there.', error);
}

function invalid(backendName: string, what: string, cause?: unknown): GatewayError {
  return new GatewayError('upstream_invalid_response', `The model backend "${backendName}" ${what}`, { cause });
}
