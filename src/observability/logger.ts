import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import { BoundLogger, type PlainLines } from './bound-logger.ts';
import { escapeControls } from './escape-controls.ts';
import { describeError, isHiddenField, maskSecrets, redacted, withoutSecrets } from './remove-secrets.ts';

export type Logger = PinoLogger;

export interface LoggerOptions {
  level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  /** Receives whole lines, each a JSON object. Default: standard output; JSON lines are buffered and written twenty times a second and when the process exits. */
  destination?: DestinationStream;
}

/**
 * Creates the gateway's logger. Secrets are removed in three ways: by field name at every level, by rebuilding objects of known shape
 * (`req`, `res`, `err`), and by pattern in the finished line, because a message or stack may quote one.
 */
export function createLogger({ level, destination = standardOutput() }: LoggerOptions): Logger {
  const isoTime = createIsoTime();
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${isoTime()}"`,
      formatters: { level: (label) => ({ level: label }), log: cleanFields },
      serializers: { req: describeRequest, res: describeReply, err: (error: unknown) => error },
      hooks: { streamWrite: masked },
    },
    destination,
  );
  bindChildren(logger, {
    takes: isPlain,
    write: (label, fields, msg) => destination.write(`${masked(JSON.stringify({ level: label, time: isoTime(), ...fields, msg }))}\n`),
  });
  return logger;
}

/** A logger to standard output. `pretty` is for people at a terminal; everything else reads `json`, one object a line. */
export async function openLogger({ level, format }: Pick<LoggerOptions, 'level'> & { format: 'json' | 'pretty' }): Promise<Logger> {
  if (format === 'json') return createLogger({ level });
  const { prettyLines } = await import('./pretty-lines.ts');
  return createLogger({ level, destination: prettyLines() });
}

/** Pino's formatters do not see the fields of its child loggers, and most children write a single line. Options of a child are ignored: nobody has any. */
function bindChildren(logger: Logger, plain: PlainLines): void {
  logger.child = ((bindings: Record<string, unknown>) => new BoundLogger(logger, plain, bindings)) as unknown as Logger['child'];
}

/** Every line passes this, whoever serialized it. */
function masked(line: string): string {
  return escapeControls(maskSecrets(line));
}

/** As pino's own `isoTime` has it, but the date is written once a second. */
function createIsoTime(): () => string {
  let latest = { second: Number.NaN, text: '' };
  return () => {
    const now = Date.now();
    const second = Math.floor(now / 1_000);
    if (second !== latest.second) latest = { second, text: new Date(second * 1_000).toISOString().slice(0, -'000Z'.length) };
    return `${latest.text}${String(now - second * 1_000).padStart(3, '0')}Z`;
  };
}

/** How long lines are buffered: writing each line would be a tenth of the cost of a short chat. */
const flushMs = 50;
const flushCharacters = 4_096;

function standardOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: true });
  // Pino's own buffer measures everything in it with each line.
  let buffered = '';
  const flushSync = (): void => {
    const text = buffered;
    buffered = '';
    if (text !== '') output.write(text);
  };
  const write = (line: string): void => {
    buffered += line;
    if (buffered.length >= flushCharacters) flushSync();
  };
  setInterval(flushSync, flushMs).unref();
  // Flushes at every exit except SIGKILL, which loses the last lines.
  process.once('exit', () => {
    try {
      // `flushSync` alone would retry for ever if the reader is gone or the disk is full; `flush` throws then.
      flushSync();
      output.flush();
      output.flushSync();
    } catch {
      // The log cannot be written, so the error cannot be logged either.
    }
  });
  // Pino calls `flushSync` after a fatal line.
  return { write, flushSync } as DestinationStream;
}

/** Fields with a serializer for live objects; copying those first would traverse sockets and streams. */
const rebuilt: Readonly<Record<string, (value: unknown) => unknown>> = { req: describeRequest, res: describeReply };

/** By the type of a plain value, the names under which it is shown. Lines have the same few; emptied when it is full. */
const shownNames: Readonly<Record<string, Set<string>>> = { string: new Set(), number: new Set(), boolean: new Set() };
const maxShownNames = 1_000;

/** Whether all values are plain ones, under names that are known to be harmless. */
function isPlain(fields: Record<string, unknown>): boolean {
  for (const name in fields) {
    const value = fields[name];
    if (value !== undefined && shownNames[typeof value]?.has(name) !== true) return false;
  }
  return true;
}

/** Most lines have only such values, and are not copied. */
function cleanFields(fields: Record<string, unknown>): Record<string, unknown> {
  if (isPlain(fields)) return fields;
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, cleanField(name, value)]));
}

function cleanField(name: string, value: unknown): unknown {
  if (Object.hasOwn(rebuilt, name)) return value;
  if (name === 'err') return describeError(value);
  if (isHiddenField(name, value)) return redacted;
  const shown = shownNames[typeof value];
  if (shown !== undefined) {
    if (shown.size >= maxShownNames) shown.clear();
    shown.add(name);
  }
  return withoutSecrets(value);
}

/** Only the path, because a query may contain a key. */
function describeRequest(request: unknown): unknown {
  const { id, method, url } = fieldsOf(request);
  const path = typeof url === 'string' ? url.replace(/[?#].*$/s, '') : undefined;
  return { id, method, path };
}

function describeReply(reply: unknown): unknown {
  return { statusCode: fieldsOf(reply)['statusCode'] };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
