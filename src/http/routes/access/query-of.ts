import type { FastifyRequest } from 'fastify';

/** From the first question mark on: another one may stand in the query itself (RFC 3986, section 3.4). */
export function queryOf({ url }: Pick<FastifyRequest, 'url'>): URLSearchParams {
  return new URLSearchParams(/\?.*$/s.exec(url)?.[0] ?? '');
}
