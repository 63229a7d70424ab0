import { execFileSync } from 'node:child_process';

/**
 * What stands before a command that finds a disk of its own at `folder`, of so many kilobytes, of which all but `left` are taken by the file `filler`.
 * Nobody else sees it, and it goes with the command.
 */
export function onSmallDisk(folder: string, { kilobytes, left = kilobytes }: { kilobytes: number; left?: number }): string[] {
  const fill = left === kilobytes ? '' : `head -c ${(kilobytes - left) * 1024} /dev/zero > "$0/filler";`;
  const script = `mount -t tmpfs -o size=${kilobytes}k tmpfs "$0" && { ${fill} exec "$@"; }`;
  return ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', script, folder];
}

/** What is missing where that cannot be done. */
export function missingForSmallDisk(folder: string): string | undefined {
  const [name = '', ...words] = onSmallDisk(folder, { kilobytes: 64 });
  try {
    execFileSync(name, [...words, 'true'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'a disk of its own needs unshare and user namespaces, as Linux has them';
  }
}
