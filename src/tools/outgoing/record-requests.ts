import type { RecordedBody, RecordedRequest } from '../../core/runs/recorded-request.ts';
import type { OutboundBody, OutboundRequest, SendOutbound } from '../../core/outbound.ts';
import { limits } from '../../core/limits.ts';
import { isSecretHeader } from '../../shared/secrets/secret-names.ts';
import { createSecretMask, type SecretMask } from '../../shared/secrets/secret-mask.ts';
import { decodeText, tryUtf8 } from './decode-text.ts';
import { isPublicHeader } from './secrets-to-mask.ts';

/** Characters of a recorded body; a person reads no more. */
export const recordedBodyCharacters = 100_000;

const hidden = '[secret]';
/** Beyond what is shown of a body, for the credential that would otherwise be cut in two and not be recognized. No header is longer. */
const longestSecret = 32 * 1024;
/** They say how to authenticate, and hold nothing to authenticate with. */
const challenges = new Set(['www-authenticate', 'proxy-authenticate']);

export interface Recording {
  /** Where requests are added. */
  requests: RecordedRequest[];
  /** Redacts everything that the connection sends, at any time: a token may be renewed while a request is under way. */
  readonly mask: SecretMask;
  /** Whether the connection adds this header (in lower case), or this parameter of the query: their values are never shown, however short. */
  isCarried: (part: { header: string } | { parameter: string }) => boolean;
}

/** `send` that records what goes out and what comes back, at most `limits.recordedRequests` times. What the reader does not read is not recorded. */
export function recordingSend(send: SendOutbound, recording: Recording): SendOutbound {
  const { requests } = recording;
  return async (request) => {
    if (requests.length >= limits.recordedRequests) return send(request);
    const recorded = toRecorded(request, recording);
    requests.push(recorded);
    const sent = recording.mask;
    const latest = (): SecretMask => (recording.mask === sent ? sent : createSecretMask([...sent.secrets, ...recording.mask.secrets]));
    try {
      const response = await send(request);
      const { status, headers } = response;
      const pieces = createPieces();
      const mask = latest();
      recorded.answer = {
        status,
        headers: Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, isSecretHeader(name) && !challenges.has(name) ? hidden : mask.text(value)]),
        ),
        readBody: () => pieces.toBody(headers['content-type'], latest()),
      };
      return { ...response, body: watched(response.body, pieces.add) };
    } catch (error) {
      recorded.failure = latest().text(error instanceof Error ? error.message : String(error));
      throw error;
    }
  };
}

/** A text of any length, such as a message over a pipe, as it may be shown. `isCut`: its end is missing already. */
export function toRecordedText(given: string, mask: SecretMask, isCut = false): RecordedBody {
  const most = recordedBodyCharacters + longestSecret;
  const isShortened = isCut || given.length > most;
  // At the cut there may be the beginning of a credential.
  const whole = mask.text(given.slice(0, most)).slice(0, isShortened ? -longestSecret : undefined);
  const text = whole.slice(0, recordedBodyCharacters).toWellFormed();
  return { text, ...((isShortened || text.length < whole.length) && { isTruncated: true }) };
}

function toRecorded({ method, url, headers = {}, body, sessionUser }: OutboundRequest, recording: Recording): RecordedRequest {
  const { mask } = recording;
  const shown = Object.entries(headers).map(([given, value]): [string, string] => {
    const name = given.toLowerCase();
    const isCarried = recording.isCarried({ header: name }) && !isPublicHeader(name);
    return [name, isCarried ? hiddenValue(value) : mask.text(value)];
  });
  const session: [string, string][] = sessionUser === undefined ? [] : [['authorization', `Bearer ${hidden}`]];
  return {
    method,
    url: mask.text(withoutCarried(url, recording)),
    headers: Object.fromEntries([...shown, ...session]),
    ...(typeof body === 'string' && { body: toRecordedText(body, mask) }),
    ...(body instanceof Uint8Array && { body: toRecordedBytes(body, { contentType: headers['content-type'], mask }) }),
  };
}

/** The scheme is no secret, and says what kind of one is there. */
function hiddenValue(value: string): string {
  const scheme = /^(?:basic|bearer|digest|token)(?= )/i.exec(value)?.[0];
  return scheme === undefined ? hidden : `${scheme} ${hidden}`;
}

function withoutCarried(url: string, { isCarried }: Recording): string {
  return url.replaceAll(/([?&])([^=&#?]*)=([^&#]*)/g, (whole, mark: string, name: string) =>
    isCarried({ parameter: decoded(name) }) ? `${mark}${name}=${hidden}` : whole,
  );
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    return name;
  }
}

interface Pieces {
  add: (piece: Uint8Array) => void;
  toBody: (contentType: string | undefined, mask: SecretMask) => RecordedBody | undefined;
}

function createPieces(): Pieces {
  const pieces: Uint8Array[] = [];
  let kept = 0;
  let isCut = false;
  return {
    add(piece) {
      isCut = kept >= recordedBodyCharacters + longestSecret;
      if (isCut) return;
      kept += piece.byteLength;
      pieces.push(piece.slice());
    },
    toBody: (contentType, mask) => (kept === 0 ? undefined : toRecordedBytes(Buffer.concat(pieces), { contentType, mask, isCut })),
  };
}

interface BytesToShow {
  contentType: string | undefined;
  mask: SecretMask;
  isCut?: boolean;
}

function toRecordedBytes(bytes: Uint8Array, { contentType = '', mask, isCut = false }: BytesToShow): RecordedBody {
  const text = textOf(bytes, contentType);
  if (text !== undefined) return toRecordedText(text, mask, isCut);
  const mostBytes = (recordedBodyCharacters * 3) / 4;
  const shown = Buffer.from(mask.bytes(bytes)).subarray(0, mostBytes);
  return { text: shown.toString('base64'), encoding: 'base64', ...((isCut || bytes.byteLength > mostBytes) && { isTruncated: true }) };
}

/** Undefined for bytes that are no text. What arrives may end within a character. */
function textOf(bytes: Uint8Array, contentType: string): string | undefined {
  const charset = /charset=["']?([^"';\s]+)/i.exec(contentType)?.[1];
  const isText = charset !== undefined || /^(?:text\/|[^;]*[/+](?:json|xml|yaml|x-www-form-urlencoded)\b)/i.test(contentType);
  const text = isText ? decodeText(bytes, charset, true) : tryUtf8(bytes, true);
  // eslint-disable-next-line no-control-regex -- they are what tells binaries from text
  return text === undefined || (!isText && /[\u0000-\u0008\u000e-\u001a]/.test(text)) ? undefined : text;
}

function watched(body: OutboundBody, watch: (piece: Uint8Array) => void): OutboundBody {
  return {
    readEach: (take) =>
      body.readEach((piece) => {
        watch(piece);
        return take(piece);
      }),
    close: () => body.close(),
    [Symbol.asyncIterator]: () => watchedPieces(body, watch),
  };
}

async function* watchedPieces(body: OutboundBody, watch: (piece: Uint8Array) => void): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    watch(piece);
    yield piece;
  }
}
