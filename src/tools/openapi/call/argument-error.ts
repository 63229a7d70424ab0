/** An argument that cannot be sent. The message is for the model: it names the argument and what to write instead. */
export class ArgumentError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ArgumentError';
  }
}
