import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The gateway as it is, but on SIGWINCH it collects its garbage and writes what it holds into the folder above its own, as `memory-<pid>.json`. */
setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

process.on('SIGWINCH', () => {
  if (typeof collect !== 'function') throw new Error('This Node.js cannot be told to collect its garbage.');
  for (let time = 0; time < 3; time += 1) collect();
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  writeFileSync(join(process.cwd(), '..', `memory-${process.pid}.json`), JSON.stringify({ rss, heapUsed, external, arrayBuffers }));
});

await import(new URL('../../src/toolwharf.js', import.meta.url).href);
