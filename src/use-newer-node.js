// Started with a Node that is too old, the program goes on with the one that npm brought. Plain JavaScript: an old Node reads it.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { carrier, complaint, isNewEnough } from './needed-node.js';

if (!isNewEnough(process.versions.node)) await goOn(findNode());

/** Ends this process as the other one ends. */
function goOn(node) {
  if (node === undefined) giveUp();
  const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], { stdio: 'inherit' });
  // There and yet not able to run: it is made for another C library.
  child.once('error', giveUp);
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'])
    process.on(signal, () => {
      if (signal === 'SIGTERM' || !isOnTerminal()) child.kill(signal);
    });
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
  return new Promise(() => undefined);
}

/** A terminal sends its signals to both processes, and a second one would cut off the answers that are being finished. */
function isOnTerminal() {
  return process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
}

function giveUp() {
  process.stderr.write(`${complaint}\n`);
  process.exit(1);
}

/** Of the packages beside this file or the working folder the first that is new enough. */
function findNode() {
  for (const place of [import.meta.url, join(process.cwd(), 'package.json')])
    for (const name of [carrier, 'node']) {
      const node = nodeIn(createRequire(place).resolve.paths(name) ?? [], name);
      if (node !== undefined) return node;
    }
  return undefined;
}

function nodeIn(folders, name) {
  for (const folder of folders) {
    const manifest = join(folder, name, 'package.json');
    const node = join(dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    // One that is too old itself would look for another one without end.
    if (existsSync(manifest) && existsSync(node) && isNewEnough(JSON.parse(readFileSync(manifest, 'utf8')).version)) return node;
  }
  return undefined;
}
