import { z } from 'zod';
import { hasMoreEntriesThan, isDeeperThan, isJsonObject } from '../shared/json/json.ts';
import { approvalsByName, blocksByName } from '../shared/text/name-pattern.ts';
import { longestTimerMs } from '../shared/async/timer-limits.ts';
import { limits } from '../core/limits.ts';
import { whyNotForwarded } from '../core/chat/request-headers.ts';
import { isPrivateKey, readPrivateKey } from '../shared/secrets/private-key.ts';
import { headerName } from '../shared/text/header-name.ts';

/** Of a connection, of its `config` and of its `info`, each: every value may have to be encrypted separately. */
const maxKeys = 1_000;

/** Of all a connection says besides its document: two lists of ten thousand functions. All of it is compared and encrypted with each change. */
const maxEntries = 25_000;
/** Of ten thousand names, separated by commas. */
const longestNames = 640_000;

/** Set by the HTTP client; a fixed value would break the request or smuggle a second one into it. */
const reservedHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'keep-alive']);

/** With these `auth_type`s each person can have a key of their own. */
const perUserTypes: ReadonlySet<string> = new Set(['bearer', 'basic', 'header', 'query', 'oauth']);

/** Every call reads each of them. */
const maxForwardedHeaders = 50;

/** A line break in a header's value would start another header. */
const oneLine = z.string().regex(/^[^\r\n\0]*$/, 'must be one line of text');
const text = z.string().max(10_000).nullish();

/** A password, or a private key, which in PEM has several lines. */
const clientSecret = z
  .string()
  .max(10_000)
  .refine((value) => isPrivateKey(value) || oneLine.safeParse(value).success, 'must be one line of text, or a private key in PEM')
  .refine((value) => !isPrivateKey(value) || readPrivateKey(value) !== undefined, 'is a private key that cannot be read');

/** HTML forms send `null` or an empty string for "not set". */
const optionalLine = oneLine.max(10_000).nullish();

const httpUrl = z
  .string()
  .trim()
  .max(4_000)
  .superRefine((value, context) => {
    const problem = urlProblem(value);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });

function urlProblem(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return 'must be an http:// or https:// address';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password; use auth_type and key';
  return undefined;
}

const serverUrl = httpUrl.refine((value) => !/[?#]/.test(value), 'must not have a query or fragment; auth_type "query" adds a key');

/** A fragment belongs to no address that is requested (RFC 6749, section 3.1; RFC 8707, section 2). */
const endpoint = httpUrl.refine((value) => !value.includes('#'), 'must not have a fragment');

/** A path relative to the server's URL, or an absolute URL. */
const documentPath = z
  .string()
  .trim()
  .max(4_000)
  .superRefine((value, context) => {
    const problem = /^[a-z][a-z0-9+.-]*:/i.test(value) ? urlProblem(value) : undefined;
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });

const headers = z.record(
  z
    .string()
    .regex(headerName, 'is not a header name')
    .refine((name) => !reservedHeaders.has(name.toLowerCase()), 'is a header that the gateway sets itself'),
  z.union([oneLine, z.number(), z.boolean()]).transform(String),
);

/** Of the caller's request. */
const forwardedNames = z
  .array(
    z
      .string('must be the name of a header')
      .regex(headerName, 'is not a header name')
      .toLowerCase()
      .superRefine((name, context) => {
        const problem = whyNotForwarded(name);
        if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
      }),
  )
  .max(maxForwardedHeaders)
  .transform((names) => [...new Set(names)]);

const document = z.union([z.string().max(limits.documentBytes), z.custom<object>(isJsonObject, 'must be a document or its text')]);

const names = z
  .union([z.string().max(longestNames), z.array(z.string())])
  .transform((value) => (Array.isArray(value) ? value : value.split(',')).map((name) => name.trim()).filter((name) => name !== ''));

const config = z.looseObject({
  enable: z.boolean().nullish(),
  default: z.boolean().nullish(),
  function_name_filter_list: names.refine(blocksByName.test, blocksByName.problem).nullish(),
  tags: z.array(z.string()).refine(blocksByName.test, blocksByName.problem).nullish(),
  timeout_ms: z.int().min(1).max(longestTimerMs).nullish(),
  max_result_bytes: z.int().min(1).max(limits.documentBytes).nullish(),
  /** These stay in `extra`, where the catalog reads them. They are validated here because a typing error must not switch a protection off. */
  needs_approval: z
    .union([z.boolean(), z.array(z.string())])
    .refine(approvalsByName.test, approvalsByName.problem)
    .nullish(),
  read_only: z.boolean().nullish(),
  parallel: z.boolean().nullish(),
  repeats: z.boolean().nullish(),
  execution: z.enum(['gateway', 'browser']).nullish(),
  public_headers: z.array(z.string()).nullish(),
});

/** Parameters that the gateway sets itself, each with what a sign-in depends on. */
const ownParameters = [
  'response_type',
  'client_id',
  'redirect_uri',
  'state',
  'code_challenge',
  'code_challenge_method',
  'scope',
  'resource',
];

const authorizeParameters = z
  .record(z.string().min(1).max(100), z.string().max(2_000))
  .refine((parameters) => Object.keys(parameters).length <= 20, 'has at most 20 parameters')
  .refine(
    (parameters) => !Object.keys(parameters).some((name) => ownParameters.includes(name)),
    `cannot set ${ownParameters.join(', ')}: the gateway sets these itself`,
  );

/** What is left out is discovered. Unknown fields are refused: a misspelt one would be asked of an authorization server in vain. */
const oauth = z
  .strictObject({
    client_id: optionalLine,
    client_secret: clientSecret.nullish(),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,1000}$/, 'must be a scope, without spaces and quotes'))
      .max(100)
      .nullish(),
    authorize_url: endpoint.nullish(),
    token_url: endpoint.nullish(),
    resource: z.union([endpoint, z.literal(false)]).nullish(),
    authorize_parameters: authorizeParameters.nullish(),
    grant: z.enum(['authorization_code', 'client_credentials']).nullish(),
  })
  .superRefine(({ client_id: id, client_secret: secret, authorize_url: authorize, token_url: token, grant }, context) => {
    const refuse = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message });
    if (secret && !id) refuse('client_id', 'is needed with client_secret');
    if (grant === 'client_credentials') {
      if (!id) refuse('client_id', 'is needed with grant "client_credentials": register the gateway at the authorization server');
      if (!secret) refuse('client_secret', 'is needed with grant "client_credentials": register the gateway at the authorization server');
      return;
    }
    if (secret && isPrivateKey(secret)) refuse('client_secret', 'is a private key, which only grant "client_credentials" uses');
    if (authorize && !token) refuse('token_url', 'is needed with authorize_url');
    if (token && !authorize) refuse('authorize_url', 'is needed with token_url');
  });

const info = z.looseObject({ id: text, name: text, description: text });

/** Versions of MCP that the gateway speaks as a client. */
const mcpVersions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/** A connection as an operator writes it: Open WebUI's fields plus the gateway's. Unknown fields are accepted. */
export const connectionSchema = z
  .looseObject({
    id: text,
    url: serverUrl,
    path: documentPath.nullish(),
    base_path: z.string().trim().max(4_000).nullish(),
    type: z.enum(['openapi', 'mcp']).nullish(),
    spec: document.nullish(),
    spec_type: z.string().nullish(),
    auth_type: z.enum(['none', 'bearer', 'basic', 'header', 'query', 'session', 'oauth']).nullish(),
    auth_name: optionalLine,
    key: optionalLine,
    per_user: z.boolean().nullish(),
    oauth: oauth.nullish(),
    headers: headers.nullish(),
    forward_headers: forwardedNames.nullish(),
    protocol_version: z.enum(mcpVersions).nullish(),
    config: config.nullish(),
    info: info.nullish(),
  })
  .superRefine((connection, context) => {
    if ([connection, connection.config, connection.info].some((part) => Object.keys(part ?? {}).length > maxKeys)) {
      context.addIssue({ code: 'custom', message: `has more than ${maxKeys} keys in one place` });
    }
    if (isDeeperThan(connection, limits.documentDepth)) {
      context.addIssue({ code: 'custom', message: `is nested more than ${limits.documentDepth} levels deep` });
    }
    const { spec: _document, ...rest } = connection;
    if (hasMoreEntriesThan(rest, maxEntries)) {
      context.addIssue({ code: 'custom', message: `has more than ${maxEntries} entries besides its document` });
    }
    if (connection.auth_type === 'basic' && connection.key && !connection.key.includes(':')) {
      context.addIssue({ code: 'custom', path: ['key'], message: 'must be user:password for auth_type "basic"' });
    }
    if (connection.per_user === true && !perUserTypes.has(connection.auth_type ?? 'bearer')) {
      const types = [...perUserTypes].join(', ');
      context.addIssue({ code: 'custom', path: ['per_user'], message: `needs an auth_type that sends a key: one of ${types}` });
    }
    if (connection.auth_type === 'oauth' && connection.key) {
      context.addIssue({
        code: 'custom',
        path: ['key'],
        message: 'is not used with auth_type "oauth"; a secret of the client is oauth.client_secret',
      });
    }
    if (connection.auth_type === 'oauth' && connection.per_user === true && connection.oauth?.grant === 'client_credentials') {
      context.addIssue({
        code: 'custom',
        path: ['per_user'],
        message: 'contradicts oauth.grant "client_credentials", with which the gateway signs in for everybody',
      });
    }
    if (connection.auth_type === 'header' && connection.auth_name && !headerName.test(connection.auth_name)) {
      context.addIssue({ code: 'custom', path: ['auth_name'], message: 'is not a header name' });
    }
  });

export type Connection = z.infer<typeof connectionSchema>;

const line = z
  .string()
  .regex(/^[^\0]*$/, 'must not hold a null character')
  .max(10_000);

/** How to start an MCP server as a child process (stdio transport). */
export const processSchema = z.object({
  id: z.string('is required for a server that is started by a command').min(1, 'is required for a server that is started by a command'),
  command: line.min(1),
  args: z.array(line).max(1_000).default([]),
  cwd: line.min(1).optional(),
  env: z.record(z.string(), z.union([line, z.number(), z.boolean()]).transform(String)).default({}),
});
