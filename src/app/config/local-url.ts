/** Where the gateway of this configuration is reached from this machine: an address that stands for all becomes the loopback one. */
export function localUrl({ host, port }: { host: string; port: number }): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}
