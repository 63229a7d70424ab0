import { createHash, timingSafeEqual } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Caller } from '../core/caller.ts';
import { GatewayError } from '../core/errors.ts';

/** What a request shows of itself, whatever framework received it. Header names in lower case. */
export interface Credentials {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Authenticator {
  /** @throws GatewayError `invalid_api_key` (401) or `forbidden` (403), naming the cure. */
  requireCaller: (request: Credentials) => Caller;
  findByToken: (token: string) => Caller | undefined;
  /** The caller of an open gateway, or undefined when a key is needed or this request may not use the open door. */
  findOpenCaller: (request: Credentials) => Caller | undefined;
  readonly isOpen: boolean;
}

const openCaller: Caller = { id: 'local', role: 'admin', isOpen: true };
const forwardedHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'cf-connecting-ip'];
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Without a key the gateway is open to this machine alone. The guards keep it so: a browser page of another site (Origin), a name that
 * was rebound to this address (Host), and a proxy that carries strangers in (Forwarded and its kin) are not this machine's user.
 */
export function createAuthenticator(options: { adminKey: string | undefined }): Authenticator {
  const adminHash = options.adminKey === undefined ? undefined : hash(options.adminKey);
  const admin: Caller = { id: 'admin', role: 'admin', isOpen: false };

  const findByToken = (token: string): Caller | undefined =>
    adminHash !== undefined && timingSafeEqual(hash(token), adminHash) ? admin : undefined;

  return {
    isOpen: adminHash === undefined,
    findByToken,
    findOpenCaller(request) {
      if (adminHash !== undefined) return undefined;
      return openDoorRefusal(request) === undefined ? openCaller : undefined;
    },
    requireCaller(request) {
      if (adminHash === undefined) {
        const refusal = openDoorRefusal(request);
        if (refusal !== undefined) throw refusal;
        return openCaller;
      }
      const token = tokenOf(request.headers);
      const caller = token === undefined ? undefined : findByToken(token);
      if (caller !== undefined) return caller;
      const problem = token === undefined ? 'No API key was sent' : 'The API key is not known here';
      throw new GatewayError(
        'invalid_api_key',
        `${problem}. Send it as "Authorization: Bearer <key>", "x-api-key", or as the password of Basic authentication.`,
      );
    },
  };
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The key of a request: `Authorization: Bearer`, `x-api-key`, or Basic with the key as password. */
export function tokenOf(headers: Credentials['headers']): string | undefined {
  const authorization = single(headers['authorization']);
  const [scheme, value] = authorization?.split(/\s+/, 2) ?? [];
  if (scheme?.toLowerCase() === 'bearer' && value !== undefined && value !== '') return value;
  if (scheme?.toLowerCase() === 'basic' && value !== undefined) {
    const pair = Buffer.from(value, 'base64').toString();
    const password = pair.slice(pair.indexOf(':') + 1);
    if (password !== '') return password;
  }
  const key = single(headers['x-api-key']);
  return key === undefined || key === '' ? undefined : key;
}

function openDoorRefusal({ method, headers }: Credentials): GatewayError | undefined {
  const proxied = forwardedHeaders.find((name) => headers[name] !== undefined);
  if (proxied !== undefined) {
    return new GatewayError(
      'invalid_api_key',
      `A proxy stands in front (${proxied}), so others can reach this gateway: set TOOLWHARF_ADMIN_KEY and send it as a bearer token.`,
    );
  }
  const host = single(headers['host']) ?? '';
  if (!isLoopbackName(hostnameOf(host))) {
    return new GatewayError(
      'forbidden',
      'Without a key this gateway answers to 127.0.0.1, localhost and [::1] only. Use one of these, or set TOOLWHARF_ADMIN_KEY.',
    );
  }
  const origin = single(headers['origin']);
  if (origin !== undefined && !safeMethods.has(method) && !isOwnOrigin(origin, host)) {
    return new GatewayError(
      'forbidden',
      `The page ${origin.slice(0, 200)} may not change anything here without a key. Set TOOLWHARF_ADMIN_KEY and CORS_ALLOW_ORIGIN to allow it.`,
    );
  }
  return undefined;
}

/** The same host and port as the request was sent to. */
export function isOwnOrigin(origin: string, host: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}

function hostnameOf(host: string): string {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '';
}

/** `localhost` or a loopback address, in any spelling that the URL parser normalises. */
export function isLoopbackName(hostname: string): boolean {
  if (hostname === 'localhost') return true;
  const address = hostname.replaceAll(/^\[|\]$/g, '');
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
