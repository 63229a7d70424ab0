/** Some servers have tool calls or a parameter, but not in streams, in long requests, or beside something else that a caller may have asked for. */
export function isConditional(message: string): boolean {
  return /\bstream|\bcombin|\btogether\b|\balongside\b|\bonce\b|\bunless\b|\bexceed|\b(?:longer|larger|more|greater) than\b|\btoo (?:long|large|many)\b|\b(?:with|when|while|if)\b(?! (?:this|the|your|current|selected) model| function calling)/i.test(
    message,
  );
}
