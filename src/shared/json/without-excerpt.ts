const end = ' is not valid JSON';

/**
 * Removes from a message of `JSON.parse` the excerpt of the text: it may contain part of a credential, which cannot be recognized once it is cut. Takes
 * linear time, because the text may be hostile.
 */
export function withoutExcerpt(message: string): string {
  const stop = message.lastIndexOf(end);
  const start = message.indexOf('"');
  if (start === -1 || stop < start) return message;
  const head = message.slice(0, start).replace(/(?:, )?(?:\.\.\.)?$/, '');
  return `${head} in what${message.slice(stop)}`.trimStart();
}
