import { readFileSync } from 'node:fs';

const headBytes = 32;
const frameHeadBytes = 24;

/**
 * How many transactions the write-ahead log of a database holds, each of which took one sync of the disk: the header of a transaction's last page says how
 * large the database is after it (https://www.sqlite.org/fileformat2.html#walformat).
 */
export function commitsInLog(file: string): number {
  const log = readFileSync(`${file}-wal`);
  if (log.length === 0) return 0;
  const frameBytes = frameHeadBytes + log.readUInt32BE(8);
  let commits = 0;
  for (let offset = headBytes; offset + frameBytes <= log.length; offset += frameBytes) if (log.readUInt32BE(offset + 4) > 0) commits += 1;
  return commits;
}
