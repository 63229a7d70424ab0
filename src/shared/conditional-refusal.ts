/** Some servers have tool calls or a parameter, but not in streams, or not beside something else that a caller may have asked for. */
export function isConditional(message: string): boolean {
  return /\bstream|\bcombin|\btogether\b|\b(?:with|when|while|if)\b(?! (?:this|the|your|current|selected) model| function calling)/i.test(
    message,
  );
}
