import { pino } from 'pino';
import type { DestinationStream, Logger as PinoLogger } from 'pino';
import pretty from 'pino-pretty';
import { describeError, isSecretKey, maskSecrets, redacted, withoutSecrets } from './remove-secrets.ts';

export type Logger = PinoLogger;

export interface LoggerOptions {
  level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  /** `pretty` is for people at a terminal; everything else reads `json`, one object a line. */
  format: 'json' | 'pretty';
  /** Receives whole lines. Default: standard output, written at once, so that nothing is lost when the process ends. */
  destination?: DestinationStream;
}

/**
 * The gateway's log. Facts go in as fields; secrets are taken out three times: by name at every level, by rebuilding what has a known shape
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
      hooks: { streamWrite: maskSecrets },
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
  if (format === 'json') return destination ?? pino.destination({ fd: 1, sync: true });
  if (destination === undefined) return pretty({ sync: true, translateTime: 'SYS:HH:MM:ss.l' });
  const write = pretty.prettyFactory({ colorize: false });
  return { write: (line) => destination.write(write(line)) };
}

/** Fields whose serializer looks at live objects; copying those first would walk sockets and streams. */
const rebuilt: Readonly<Record<string, (value: unknown) => unknown>> = { req: describeRequest, res: describeReply };

function cleanFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, cleanField(key, value)]));
}

function cleanField(key: string, value: unknown): unknown {
  if (Object.hasOwn(rebuilt, key)) return value;
  if (key === 'err') return describeError(value);
  return isSecretKey(key) ? redacted : withoutSecrets(value);
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
