import { isJsonObject, ownValue } from '../../../shared/json.ts';
import type { JsonObject } from '../../../shared/json.ts';

const maxPlaces = 20;
/** A link in Markdown to the page of a document at another path of the same server, as mcpo writes them: `[time](/time/docs)`. */
const pageLink = /\]\((\/[\w./~-]{1,200})\/docs\/?\)/g;

/**
 * Why a document gives no function although nothing of it was left out: it lists no operation. A server that has one document for each of its parts
 * (mcpo with several servers, FastAPI with mounted applications) often has such a document at its root; where it names the parts, so does this.
 */
export function explainNoOperations(document: JsonObject): string {
  const info = ownValue(document, 'info');
  const description = isJsonObject(info) ? ownValue(info, 'description') : undefined;
  const links = typeof description === 'string' ? [...description.slice(0, 100_000).matchAll(pageLink)] : [];
  const places = [...new Set(links.flatMap(([, place]) => (place === undefined ? [] : [place])))].slice(0, maxPlaces);
  const said = 'The document lists no operation, so it gives no function.';
  return places.length === 0
    ? `${said} Where a server has one document for each of its parts, register each part by its own URL.`
    : `${said} It names others: register each by this URL followed by its path (${places.join(', ')}).`;
}
