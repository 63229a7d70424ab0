import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Every child of this run, so that none outlives it. */
const children = new Set<ChildProcess>();
/** Time to end by itself before it is killed. */
const endMs = 2_000;
const startMs = 20_000;

export interface Child {
  pid: number;
  end(): Promise<void>;
}

export interface StartOptions {
  file: string;
  /** Of Node, before the file. */
  flags?: readonly string[];
  args?: string[];
  environment?: NodeJS.ProcessEnv;
  folder: string;
  /** Receives standard output and error. */
  outputFile: string;
}

/** Starts `node <file>` with nothing of this process's own environment but what a system needs. */
export function startNode({ file, flags = [], args = [], environment = {}, folder, outputFile }: StartOptions): Child {
  const output = openSync(outputFile, 'a');
  const { PATH, HOME, TMPDIR } = process.env;
  const base = Object.fromEntries(Object.entries({ PATH, HOME, TMPDIR }).filter(([, value]) => value !== undefined));
  const child = spawn(process.execPath, [...flags, file, ...args], {
    cwd: folder,
    env: { ...base, ...environment },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  children.add(child);
  child.once('exit', () => children.delete(child));
  if (child.pid === undefined) throw new Error(`${file} could not be started`);
  return { pid: child.pid, end: () => endChild(child) };
}

async function endChild(child: ChildProcess): Promise<void> {
  if (!children.has(child)) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const late = new AbortController();
  const isLate = pause(endMs, 'late', { signal: late.signal, ref: false }).catch(() => 'left');
  if ((await Promise.race([exited, isLate])) === 'late') child.kill('SIGKILL');
  late.abort();
  await exited;
}

export async function endAllChildren(): Promise<void> {
  await Promise.all([...children].map(endChild));
}

/** For the moment in which this process itself ends: nothing can be awaited then. */
export function killAllChildren(): void {
  for (const child of children) child.kill('SIGKILL');
}

/** The port that a child announces as `listening <port>`. */
export async function announcedPort(outputFile: string): Promise<number> {
  for (const deadline = performance.now() + startMs; performance.now() < deadline;) {
    const port = /^listening (\d+)$/m.exec(readFileSync(outputFile, 'utf8'))?.[1];
    if (port !== undefined) return Number(port);
    await pause(20);
  }
  throw new Error(`A process of this run did not start: ${readFileSync(outputFile, 'utf8').slice(-2_000)}`);
}

/** User and system time of the process so far, in microseconds; undefined where there is no /proc. */
export function cpuMicroseconds(pid: number): number | undefined {
  const stat = readProcess(pid, 'stat');
  if (stat === undefined) return undefined;
  // The name in parentheses may hold anything; utime and stime are fields 14 and 15, in ticks of a hundredth of a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Resident memory in megabytes; undefined where there is no /proc. */
export function residentMegabytes(pid: number): number | undefined {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readProcess(pid, 'status') ?? '')?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}

function readProcess(pid: number, file: 'stat' | 'status'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}
