import { OutboundError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import type { SendOutbound } from '../../../core/outbound.ts';
import { ownValue } from '../../../shared/json/json.ts';
import { serverOfDocument, toDocumentUrl, usualDocumentPath, usualPlaces, withoutSlashesAtEnd } from '../../../shared/text/document-url.ts';
import type { DocumentPlace } from '../../definitions/opened-server.ts';
import {
  CredentialRefused,
  documentUrl,
  loadDocument,
  NoDocument,
  withoutQuery,
  type DocumentAddress,
  type LoadedDocument,
  type LoadOptions,
} from './load-document.ts';
import type { DocumentReader } from './open-foreign-document.ts';
import { linksOf } from './page-links.ts';

/** From a page to its script, the configuration, and the document. */
const maxSteps = 3;
const maxFollowed = 16;

interface FindOptions extends LoadOptions {
  reader: DocumentReader;
  /** Whether pages are searched, and the usual addresses of frameworks tried; otherwise only the address itself and `openapi.json`. */
  isThorough: boolean;
}

type FoundDocument = LoadedDocument & { place: DocumentPlace };

/** An address without a document. `steps`: how many links led there. */
interface Miss {
  place: DocumentPlace;
  error: Error;
  steps: number;
}

/**
 * `loadDocument`, where the address may be that of the document itself, whatever its path, or of a page that displays it. Another path than the default is
 * asked only there. @throws as `loadDocument`, about the place where people would look first
 */
export async function findDocument(address: DocumentAddress, send: SendOutbound, options: FindOptions): Promise<FoundDocument> {
  const usual: DocumentPlace = { url: address.url, address: documentUrl(address.url, address.path), isItself: false };
  const load = async (place: DocumentPlace): Promise<FoundDocument> => {
    const known = options.known?.place?.address === place.address ? options.known : undefined;
    return { ...(await loadDocument({ ...address, path: place.address }, send, { ...options, known })), place };
  };
  if (address.path !== usualDocumentPath) return load(usual);
  const { signal } = options.reader;
  const endsAt = performance.now() + limits.documentTimeoutMs;
  const misses: Miss[] = [];
  const ask = async (place: DocumentPlace, steps: number): Promise<FoundDocument | undefined> => {
    try {
      return certain(await load(place));
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Error) || !mayBeElsewhere(error, place !== usual)) throw error;
      misses.push({ place, error, steps });
      return undefined;
    }
  };
  const known = options.known?.place;
  const again = known === undefined ? undefined : await ask(known, maxSteps);
  if (again !== undefined) return again;
  misses.length = 0;
  for (const { place, steps } of placesToAsk({ url: address.url, usual, isThorough: options.isThorough }, misses)) {
    const found = await ask(place, steps);
    if (found !== undefined) return found;
    // A server that takes long for each of these is not asked for all of them.
    if (performance.now() > endsAt) break;
  }
  throw explain(misses, usual, options.isThorough);
}

interface Asked {
  place: DocumentPlace;
  steps: number;
}

/** The candidates in order. `misses` has the outcome of the earlier ones. */
function* placesToAsk(
  { url, usual, isThorough }: { url: string; usual: DocumentPlace; isThorough: boolean },
  misses: readonly Miss[],
): Generator<Asked> {
  const { pathname } = new URL(url);
  const itself = placeOf(url);
  const asked = new Set<string>();
  const once = function* (place: DocumentPlace, steps = 0): Generator<Asked> {
    if (asked.has(place.address)) return;
    asked.add(place.address);
    yield { place, steps };
  };
  // Most registered addresses are no documents, and a request to one of them may be dear.
  for (const place of [usual, itself]) yield* once(place);
  if (misses.some(({ place, error }) => place === itself && error instanceof OutboundError)) {
    for (const place of redirectedPlaces(itself)) yield* once(place);
  }
  if (!isThorough) return;
  for (let at = 0; at < misses.length && asked.size < maxFollowed; at += 1) {
    const { place, error, steps } = misses[at] ?? { place: itself, error: undefined, steps: maxSteps };
    if (steps >= maxSteps || !(error instanceof NoDocument) || error.page === undefined) continue;
    for (const link of linksOf(error.page, place.address)) yield* once(placeOf(link), steps + 1);
  }
  if (misses.some(({ error }) => error instanceof CredentialRefused)) return;
  const isPage = misses.some(({ place, error }) => place === itself && error instanceof NoDocument && error.page !== undefined);
  for (const server of isPage && pathname !== '/' ? [itself.url, url] : [url])
    for (const path of usualPlaces)
      yield* once({ url: server, address: `${withoutSlashesAtEnd(withoutQuery(server))}/${path}`, isItself: false });
}

/** The same path with or without a slash at its end, and its page. */
function redirectedPlaces({ address }: DocumentPlace): DocumentPlace[] {
  const { origin, pathname } = new URL(address);
  const path = `${origin}${withoutSlashesAtEnd(pathname)}`;
  return (pathname.endsWith('/') ? [path, `${path}/index.html`] : [`${path}/`, `${path}/index.html`]).map(placeOf);
}

/** A document whose address is known. */
function placeOf(address: string): DocumentPlace {
  const pasted = toDocumentUrl(address, undefined);
  return pasted.url === address
    ? { url: serverOfDocument(address), address, isItself: true }
    : { url: pasted.url, address, isItself: false };
}

/** Something else at a guessed address may have `paths` too. */
function certain(found: FoundDocument): FoundDocument {
  if (found.type === 'unchanged') return found;
  const { head } = found.opened;
  if (
    ownValue(head, 'openapi') !== undefined ||
    ownValue(head, 'swagger') !== undefined ||
    found.place.address.endsWith(`/${usualDocumentPath}`)
  )
    return found;
  throw new NoDocument('It has neither "openapi" nor "swagger".');
}

/** Whether to try another address. At a guessed one there may be something that fails, or never ends. */
function mayBeElsewhere(error: Error, isGuess: boolean): boolean {
  if (error instanceof NoDocument) return isGuess || error.isMissing || error.page !== undefined;
  if (error instanceof CredentialRefused) return true;
  return (
    error instanceof OutboundError &&
    (error.failure === 'redirected' || (isGuess && (error.failure === 'timeout' || error.failure === 'cut')))
  );
}

function explain(misses: readonly Miss[], usual: DocumentPlace, isThorough: boolean): Error {
  const ofUsual = misses.find(({ place }) => place === usual)?.error;
  const ofItself = misses.find(({ place }) => place.isItself && place.address === usual.url)?.error;
  const isMissing = ofUsual instanceof NoDocument && ofUsual.isMissing;
  const isTelling = ofItself instanceof CredentialRefused || (ofItself instanceof NoDocument && ofItself.page !== undefined);
  const error = isMissing && isTelling ? ofItself : ofUsual;
  if (error === undefined) return ofItself ?? new NoDocument(`${usual.address} could not be asked.`);
  if (!(error instanceof NoDocument) || !isThorough) return error;
  const mcp = isMcpAddress(usual.url) ? 'By its address this is an MCP server: set "type" to "mcp". ' : '';
  const cure = `${mcp}The usual paths of frameworks were tried too. Set "path" to the path of the document, such as "documentation/json"`;
  const otherType = mcp === '' ? ', or "type" to "mcp" for an MCP server.' : '.';
  return new NoDocument(`${error.message} ${cure}${otherType}`, { cause: error });
}

/** The usual paths of MCP endpoints. */
function isMcpAddress(url: string): boolean {
  return /\/(?:mcp|sse)\/?$/.test(new URL(url).pathname);
}
