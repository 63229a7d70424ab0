import type { IncomingHttpHeaders } from 'node:http';

/** Whether the client is Open WebUI, which only its HTTP client tells. */
export function isOpenWebUi(headers: IncomingHttpHeaders): boolean {
  return headers['user-agent']?.includes('aiohttp/') === true;
}
