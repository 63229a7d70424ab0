import { createHook } from 'node:async_hooks';
import { writeFileSync } from 'node:fs';

/**
 * Preloaded with `--import` into a process whose promises a test counts. At SIGWINCH, by which no process ends, it writes the number of all that it
 * has made so far to the file that `PROMISES_FILE` names. An `await` counts as one.
 */
let made = 0;
createHook({
  init(_id, type) {
    if (type === 'PROMISE') made += 1;
  },
}).enable();

process.on('SIGWINCH', () => writeFileSync(process.env['PROMISES_FILE'] ?? '', `${made}\n`));
