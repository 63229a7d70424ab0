import { createRequire } from 'node:module';
import { pino } from 'pino';
import type { DestinationStream, Logger as PinoLogger } from 'pino';
import type PinoPretty from 'pino-pretty';
import { describeError, isHiddenField, maskSecrets, redacted, withoutSecrets } from './remove-secrets.ts';

export type Logger = PinoLogger;

export interface LoggerOptions {
  level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  /** `pretty` is for people at a terminal; everything else reads `json`, one object a line. */
  format: 'json' | 'pretty';
  /** Receives whole lines. Default: standard output; JSON lines are written together, twenty times a second and when the process ends. */
  destination?: DestinationStream;
}

/**
 * The gateway's log. Facts go in as fields; secrets are removed three times: by name at every level, by rebuilding what has a known shape
 * (`req`, `res`, `err`), and by pattern in the finished line, where a message or a stack may quote one.
 */
export function createLogger({ level, format, destination }: LoggerOptions): Logger {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: cleanFields },
      serializers: { req: describeRequest, res: describeReply, err: (error: unknown) => error },
      hooks: { streamWrite: (text) => escapeControls(maskSecrets(text)) },
    },
    destinationFor(format, destination),
  );
  cleanChildBindings(logger);
  return logger;
}

/** Formatters do not see what a child logger is given for all its lines; children inherit this. */
function cleanChildBindings(logger: Logger): void {
  const createChild = Reflect.get(logger, 'child') as unknown as (this: Logger, bindings: object, options?: object) => Logger;
  logger.child = function child(this: Logger, bindings: Record<string, unknown>, options?: object) {
    return createChild.call(this, cleanFields(bindings), options);
  } as unknown as Logger['child'];
}

function destinationFor(format: LoggerOptions['format'], destination: DestinationStream | undefined): DestinationStream {
  if (format === 'json') return destination ?? standardOutput();
  const pretty = loadPretty();
  const output = destination ?? pino.destination({ fd: 1, sync: true });
  const toPretty = pretty.prettyFactory({
    colorize: destination === undefined && pretty.isColorSupported,
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
    messageFormat: (line, key) => escapeLineBreaks(line[key]),
    // These two are written into the head of the line unchanged.
    customPrettifiers: { caller: escapeLineBreaks, name: escapeLineBreaks },
  });
  return { write: (line) => output.write(escapeControls(toPretty(line))) };
}

/** DEL and the second set of control characters, which JSON lets pass; line separators of Unicode, and what turns the direction of text round. */
const controlCharacters = /[\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/g;

/** Foreign text must not control the terminal in which the log is read. The line stays valid JSON. */
function escapeControls(line: string): string {
  return line.replaceAll(controlCharacters, escapeCharacter);
}

/** A pretty message is not JSON any more: foreign text must not begin a new line. */
function escapeLineBreaks(value: unknown): string {
  const message = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  // eslint-disable-next-line no-control-regex -- control characters are what it is about
  return message.replaceAll(/[\u0000-\u001F]/g, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}

/** Only people at a terminal need it. */
function loadPretty(): typeof PinoPretty {
  return createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty;
}

/** How long lines are buffered at most: a write for each line would be a tenth of the cost of a short chat. */
const flushMs = 50;
const flushBytes = 4_096;

function standardOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: true, minLength: flushBytes, periodicFlush: flushMs });
  // Written at every exit but a kill, which costs the lines of the last moment.
  process.once('exit', () => {
    try {
      // `flushSync` alone tries for ever where nobody reads any more or the disk is full, and the process never ends; `flush` finds that out.
      output.flush();
      output.flushSync();
    } catch {
      // Nobody is left who could read about it.
    }
  });
  return output;
}

/** Fields whose serializer looks at live objects; copying those first would walk sockets and streams. */
const rebuilt: Readonly<Record<string, (value: unknown) => unknown>> = { req: describeRequest, res: describeReply };

/** Most lines hold plain values under plain names, and are taken as they are. */
function cleanFields(fields: Record<string, unknown>): Record<string, unknown> {
  if (Object.keys(fields).every((key) => !isObject(fields[key]) && !isHiddenField(key, fields[key]))) return fields;
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, cleanField(key, value)]));
}

function isObject(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function cleanField(key: string, value: unknown): unknown {
  if (Object.hasOwn(rebuilt, key)) return value;
  if (key === 'err') return describeError(value);
  return isHiddenField(key, value) ? redacted : withoutSecrets(value);
}

/** The path alone: a query may carry a key. */
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
