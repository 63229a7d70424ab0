/** A setting that stops the start. Its message is one line: the setting, what is wrong, the cure; never a secret. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message.replaceAll(/\s*\n\s*/g, ' '));
    this.name = 'ConfigError';
  }
}

/** What a parser of values throws. The reader knows the setting's name, where it was set, and whether the value may be shown. */
export class InvalidValue extends Error {
  /** Completes "the value …", for example "is not a whole number". */
  readonly problem: string;
  /** What to do, for example "set true or false". */
  readonly cure: string;
  /** The entry at fault where the value is a list. */
  readonly part: string | undefined;

  constructor(problem: string, cure: string, part?: string) {
    super(`${problem}; ${cure}`);
    this.name = 'InvalidValue';
    this.problem = problem;
    this.cure = cure;
    this.part = part;
  }
}
