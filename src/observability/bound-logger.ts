type Fields = Record<string, unknown>;
export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** The part of Pino's logger that is needed here. */
type LineLogger = Record<Level, (fields: object, message: string) => void> & { level: string; isLevelEnabled(level: string): boolean };

/** Writes lines whose fields are plain values, none of them under the name of a secret. */
export interface PlainLines {
  takes(fields: Fields): boolean;
  write(level: Level, fields: Fields, message: string): void;
}

/**
 * A logger that adds the same fields to each of its lines, as a child of Pino's does. One is made for each request, where a child costs more than its
 * line, and a line with twenty fields is serialized at once.
 */
export class BoundLogger {
  readonly #logger: LineLogger;
  readonly #plain: PlainLines;
  #bindings: Fields;

  constructor(logger: LineLogger, plain: PlainLines, bindings: Fields) {
    this.#logger = logger;
    this.#plain = plain;
    this.#bindings = bindings;
  }

  get level(): string {
    return this.#logger.level;
  }

  trace(fields: unknown, ...message: unknown[]): void {
    this.#log('trace', fields, message);
  }

  debug(fields: unknown, ...message: unknown[]): void {
    this.#log('debug', fields, message);
  }

  info(fields: unknown, ...message: unknown[]): void {
    this.#log('info', fields, message);
  }

  warn(fields: unknown, ...message: unknown[]): void {
    this.#log('warn', fields, message);
  }

  error(fields: unknown, ...message: unknown[]): void {
    this.#log('error', fields, message);
  }

  fatal(fields: unknown, ...message: unknown[]): void {
    this.#log('fatal', fields, message);
  }

  silent(): void {}

  setBindings(bindings: Fields): void {
    this.#bindings = { ...this.#bindings, ...bindings };
  }

  child(bindings: Fields): BoundLogger {
    return new BoundLogger(this.#logger, this.#plain, { ...this.#bindings, ...bindings });
  }

  /** `given`: the fields of this line, an error, or its message alone. */
  #log(level: Level, given: unknown, message: readonly unknown[]): void {
    if (!this.#logger.isLevelEnabled(level)) return;
    if (typeof given === 'string') this.#write(level, this.#bindings, [given, ...message]);
    else if (given instanceof Error) this.#write(level, { ...this.#bindings, err: given }, message.length > 0 ? message : [given.message]);
    else this.#write(level, { ...this.#bindings, ...(given as Fields) }, message);
  }

  #write(level: Level, fields: Fields, message: readonly unknown[]): void {
    const text = message[0];
    if (message.length === 1 && typeof text === 'string' && this.#plain.takes(fields)) this.#plain.write(level, fields, text);
    else this.#logger[level](fields, ...(message as [string]));
  }
}
