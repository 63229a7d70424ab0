/** The path below which the browser reaches the gateway: empty, or such as `/tools` where a proxy serves it there. The console's own files tell. */
export const basePath = basePathOf(import.meta.url);

export function basePathOf(fileUrl: string): string {
  return /^(.*)\/console\/assets\/[^/]*$/.exec(new URL(fileUrl).pathname)?.[1] ?? '';
}
