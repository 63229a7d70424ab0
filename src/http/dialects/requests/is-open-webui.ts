import type { IncomingHttpHeaders } from 'node:http';

/** Whether the client is Open WebUI, which can be recognized only by its HTTP client. */
export function isOpenWebUi(headers: IncomingHttpHeaders): boolean {
  return headers['user-agent']?.includes('aiohttp/') === true;
}
