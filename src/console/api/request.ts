import type { AnswerOf, BodyOf, Route } from './api-types.ts';
import { basePath } from './base-path.ts';
import { credential } from './credential.ts';
import { askForKey, key } from './key.ts';
import { askForLogin, findSignIn, readyLogin } from './login.ts';
import { statusMessage, unreachableMessage } from './unreachable.ts';
import { parseJson } from '../parts/text/parse-json.ts';

export interface CallOptions<Name extends Route> {
  /** Values for `:name` in the path, and for `*` at its end. */
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | undefined>>;
  body?: BodyOf<Name>;
  signal?: AbortSignal;
}

/** An error of the gateway. `message` says how to fix it. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  /** Identifies the request in the gateway's log. */
  readonly requestId: string | undefined;
  /** The field of the request at fault. */
  readonly param: string | undefined;
  /** The whole answer, for routes whose errors have more fields. */
  readonly body: unknown;

  constructor(
    message: string,
    details: { code: string; status: number; requestId?: string | undefined; param?: string | undefined; body?: unknown },
  ) {
    super(message);
    this.name = 'ApiError';
    this.code = details.code;
    this.status = details.status;
    this.requestId = details.requestId;
    this.param = details.param;
    this.body = details.body;
  }
}

/**
 * Sends a request: `call('GET /api/runs/:id', { params: { id } })`. If the gateway refuses the key, the person is asked for another one or to sign in, and
 * the request is sent again.
 * @throws ApiError
 */
export async function call<Name extends Route>(route: Name, options: CallOptions<Name> = {}): Promise<AnswerOf<Name>> {
  if (key.value === undefined) await readyLogin();
  const sent = credential.value;
  const response = await send(route, options);
  if (response.status !== 401) return read(response);
  // The person may have entered a key for another request meanwhile, or be signed in without this page knowing.
  if (credential.value !== sent || (await hasOtherLogin(sent))) {
    const second = await send(route, options);
    if (second.status !== 401) return read(second);
  }
  const error = await readError(response);
  // Changing an open gateway needs its start key, and only the gateway's message says where that is.
  const why = route.startsWith('GET ') ? whyKey(sent) : error.message;
  if (!(await askForKey(why))) throw new ApiError(why, error);
  return read(await send(route, options));
}

/** The gateway's own message tells programs how to send a key. */
function whyKey(sent: string | undefined): string {
  return sent === undefined
    ? 'This gateway requires an API key. Ask your administrator for one.'
    : 'Your key was not accepted: it is wrong, has expired, or was deleted. Enter another one.';
}

async function hasOtherLogin(sent: string | undefined): Promise<boolean> {
  if (!(await findSignIn()) || key.value !== undefined) return false;
  const found = await askForLogin().catch(() => undefined);
  return found !== undefined && found.token !== sent;
}

async function read<Value>(response: Response): Promise<Value> {
  if (response.ok) return parseJson(await response.text()) as Value;
  throw await readError(response);
}

async function send<Name extends Route>(route: Name, { params = {}, query = {}, body, signal }: CallOptions<Name>): Promise<Response> {
  const [method = 'GET', pattern = ''] = route.split(' ', 2);
  const path = pattern.replaceAll(/:(\w+)|\*/g, (_, name?: string) =>
    name === undefined ? (params['*'] ?? '').split('/').map(encodeURIComponent).join('/') : encodeURIComponent(params[name] ?? ''),
  );
  const entries = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  const search = entries.length === 0 ? '' : `?${new URLSearchParams(entries).toString()}`;
  try {
    return await fetch(basePath + path + search, {
      method,
      credentials: 'omit',
      headers: {
        accept: 'application/json',
        ...(credential.value !== undefined && { authorization: `Bearer ${credential.value}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(unreachableMessage, { code: 'unreachable', status: 0 });
  }
}

async function readError(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => undefined);
  const { error } = (body ?? {}) as { error?: { message?: string; code?: string; param?: string | null } };
  return new ApiError(error?.message ?? statusMessage(response), {
    code: error?.code ?? 'unknown',
    status: response.status,
    requestId: response.headers.get('x-request-id') ?? undefined,
    param: error?.param ?? undefined,
    body,
  });
}
