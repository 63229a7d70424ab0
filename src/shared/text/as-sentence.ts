/** Ends a message with a full stop if it lacks one, so that another sentence can follow. */
export function asSentence(message: string): string {
  return /[.!?…:]\s*$/.test(message) ? message.trimEnd() : `${message.trimEnd()}.`;
}
