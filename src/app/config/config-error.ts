/** An invalid setting, which prevents the start. Its message is one line with the setting, the problem and the cure, and never a secret. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message.replaceAll(/\s*\n\s*/g, ' '));
    this.name = 'ConfigError';
  }
}

/** Thrown by a `ParseValue`. The reader adds the setting's name, its origin, and the value if it may be shown. */
export class InvalidValue extends Error {
  /** Completes "the value …", for example "is not a whole number". */
  readonly problem: string;
  /** What to do, for example "set true or false". */
  readonly cure: string;
  /** The invalid entry of a list. */
  readonly part: string | undefined;

  constructor(problem: string, cure: string, part?: string) {
    super(`${problem}; ${cure}`);
    this.name = 'InvalidValue';
    this.problem = problem;
    this.cure = cure;
    this.part = part;
  }
}
