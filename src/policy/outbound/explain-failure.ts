import { OutboundError, type OutboundFailure } from '../../core/errors.ts';

interface Explanation {
  codes: RegExp;
  failure: OutboundFailure;
  /** What happened and what may help. Names the origin only: a path or query may carry a secret. */
  explain(origin: string): string;
}

/** By the error code of the socket, the resolver, OpenSSL or undici; the first match counts. */
const beforeTheAnswer: readonly Explanation[] = [
  {
    codes: /^ECONNREFUSED$/u,
    failure: 'unreachable',
    explain: (origin) => `Nothing listens at ${origin}. Is it running, and is the port right?`,
  },
  {
    codes: /^ENOTFOUND$|^ENODATA$/u,
    failure: 'unreachable',
    explain: (origin) => `The host name of ${origin} does not exist. Is it spelled correctly?`,
  },
  {
    codes: /^EAI_/u,
    failure: 'unreachable',
    explain: (origin) => `The host name of ${origin} cannot be resolved at the moment. Can this host reach its DNS server?`,
  },
  {
    codes: /^EHOSTUNREACH$|^ENETUNREACH$|^EHOSTDOWN$|^ENETDOWN$/u,
    failure: 'unreachable',
    explain: (origin) => `There is no route to ${origin}. Is it in a network that this host can reach?`,
  },
  {
    codes: /^UND_ERR_CONNECT_TIMEOUT$|^ETIMEDOUT$/u,
    failure: 'timeout',
    explain: (origin) => `${origin} did not accept a connection in time. Is it running, and does a firewall block it?`,
  },
  { codes: /^UND_ERR_HEADERS_TIMEOUT$/u, failure: 'timeout', explain: (origin) => `${origin} did not answer in time.` },
  {
    codes: /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/u,
    failure: 'unreachable',
    explain: (origin) => `The certificate of ${origin} is not trusted. For your own certificate authority set NODE_EXTRA_CA_CERTS.`,
  },
  {
    codes: /^EPROTO$|^ERR_SSL_|^ERR_TLS_/u,
    failure: 'unreachable',
    explain: (origin) => `No TLS connection to ${origin} could be made. Does it speak https, or only http?`,
  },
  {
    codes: /^HPE_|^UND_ERR_HEADERS_OVERFLOW$|^UND_ERR_RES_/u,
    failure: 'unreachable',
    explain: (origin) => `${origin} does not answer in valid HTTP/1.1. Is there a web server, and does it want https?`,
  },
  {
    codes: /^UND_ERR_DESTROYED$|^UND_ERR_CLOSED$/u,
    failure: 'unreachable',
    explain: (origin) => `${origin} was not called, because the gateway is shutting down.`,
  },
  {
    codes: /^EMFILE$/u,
    failure: 'no_files',
    explain: (origin) =>
      `${origin} was not called: the gateway has reached its limit of open files and connections (EMFILE). Raise its limit of open files: ulimit -n, LimitNOFILE of a systemd unit, ulimits.nofile of a container.`,
  },
  {
    codes: /^ENFILE$/u,
    failure: 'no_files',
    explain: (origin) =>
      `${origin} was not called: this machine has reached its limit of open files and connections (ENFILE). Raise its limit, fs.file-max on Linux.`,
  },
  { codes: /^UND_ERR_INVALID_ARG$/u, failure: 'invalid_request', explain: (origin) => `The request to ${origin} is not valid HTTP.` },
  {
    codes: /^ECONNRESET$|^EPIPE$|^ECONNABORTED$|^UND_ERR_SOCKET$/u,
    failure: 'unreachable',
    explain: (origin) => `${origin} closed the connection before it answered.${origin.startsWith('http:') ? ' Does it expect https?' : ''}`,
  },
];

/** Explains a failure before the response's headers. `cause` has the details for the log. */
export function explainFailedRequest(error: unknown, origin: string): OutboundError {
  if (error instanceof OutboundError) return error;
  const code = codeOf(error);
  const known = beforeTheAnswer.find(({ codes }) => codes.test(code));
  if (known === undefined) return new OutboundError('unreachable', `${origin} cannot be reached${code === '' ? '' : ` (${code})`}.`, error);
  return new OutboundError(known.failure, known.explain(origin), error);
}

/** Explains a failure within the body: in any case the answer is incomplete. */
export function explainCutBody(error: unknown, origin: string): OutboundError {
  if (error instanceof OutboundError) return error;
  const code = codeOf(error);
  if (code === 'UND_ERR_BODY_TIMEOUT') return new OutboundError('timeout', `${origin} stopped in the middle of its answer.`, error);
  return new OutboundError('cut', `${origin} broke off its answer before the end.`, error);
}

/** Connecting to several addresses of a name fails with an `AggregateError`; its last error is representative. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof AggregateError ? codeOf(error.errors.at(-1)) : '';
}
