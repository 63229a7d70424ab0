const end = ' is not valid JSON';

/**
 * A message of `JSON.parse` without the excerpt of the text that it quotes: in a peer's answer the excerpt may hold a part of a credential, which is not
 * recognised any more once it is cut. Takes linear time, because the text may be hostile.
 */
export function withoutExcerpt(message: string): string {
  const stop = message.lastIndexOf(end);
  const start = message.indexOf('"');
  if (start === -1 || stop < start) return message;
  const head = message.slice(0, start).replace(/(?:, )?(?:\.\.\.)?$/, '');
  return `${head} in what${message.slice(stop)}`.trimStart();
}
