/** A message that others follow. Servers end theirs as they like. */
export function asSentence(message: string): string {
  return /[.!?…:]\s*$/.test(message) ? message.trimEnd() : `${message.trimEnd()}.`;
}
