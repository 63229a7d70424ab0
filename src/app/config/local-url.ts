/** The URL of the gateway on this machine: a wildcard address becomes the loopback address. */
export function localUrl({ host, port }: { host: string; port: number }): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}
