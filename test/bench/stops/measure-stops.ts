import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { adminKey, startGateway } from '../gateway-process.ts';
import type { Gateway } from '../gateway-process.ts';
import { watchHealth } from '../watch-health.ts';
import { startHostilePeer } from './hostile-peer.ts';
import { controlModule, stopCases } from './stop-cases.ts';
import type { Stage, StopCase } from './stop-cases.ts';

/** How long the event loop stood still during one attack, and what came of the attack. */
export interface Stop {
  name: string;
  /** Computing time of the main thread between two turns; undefined where the gateway did not come back in time. */
  longestMs: number | undefined;
  limitMs: number;
  slowestHealthMs: number;
  said: string;
  isMet: boolean;
}

const defaultLimitMs = 50;
/** What the meter must at least see of the control. */
const controlMs = 150;
/** An attack that takes longer is given up, and its gateway killed. */
const patienceMs = 60_000;

/**
 * Each case against a fresh gateway. `pattern` chooses some of them by their names.
 */
export async function measureStops(folder: string, { pattern, note }: { pattern?: string; note: (text: string) => void }): Promise<Stop[]> {
  const stops: Stop[] = [];
  for (const stopCase of stopCases) {
    if (pattern !== undefined && !new RegExp(pattern).test(stopCase.name)) continue;
    note(`  ${stopCase.name}`);
    stops.push(await measureStop(stopCase, folder));
  }
  return stops;
}

async function measureStop(stopCase: StopCase, folder: string): Promise<Stop> {
  const { name, isControl = false, limitMs = defaultLimitMs } = stopCase;
  const peer = await startHostilePeer();
  const gateway = await startMeasured(stopCase, { backendUrl: peer.url, folder });
  try {
    const stage: Stage = {
      url: gateway.url,
      key: adminKey,
      peer,
      post: (path, body, key = adminKey) => post(gateway.url + path, body, key),
    };
    await withinPatience(stopCase.prepare?.(stage) ?? Promise.resolve());
    await longestStop(gateway, folder);
    const health = watchHealth(gateway);
    const began = performance.now();
    const outcome = await withinPatience(stopCase.attack(stage)).catch((error: unknown) => ({ said: String(error), isWrong: true }));
    const longestMs = await longestStop(gateway, folder);
    if (longestMs === undefined) {
      const gone = {
        name,
        longestMs,
        limitMs,
        slowestHealthMs: performance.now() - began,
        said: 'the gateway did not come back',
        isMet: false,
      };
      void health.end().catch(() => undefined);
      return gone;
    }
    const { slowestMs } = await health.end();
    const isMet = (isControl ? longestMs >= controlMs : longestMs <= limitMs) && outcome.isWrong !== true;
    return { name, longestMs, limitMs: isControl ? controlMs : limitMs, slowestHealthMs: slowestMs, said: outcome.said, isMet };
  } finally {
    await gateway.end();
    peer.close();
  }
}

async function startMeasured(
  { hasProcess = false, environment }: StopCase,
  { backendUrl, folder }: { backendUrl: string; folder: string },
): Promise<Gateway> {
  const own = mkdtempSync(join(folder, 'stops-'));
  mkdirSync(join(own, 'tools'));
  writeFileSync(join(own, 'tools', 'compute.js'), controlModule);
  const hostileProcess = {
    id: 'process',
    type: 'mcp',
    command: process.execPath,
    args: [fileURLToPath(new URL('hostile-process.js', import.meta.url))],
  };
  const configuration = { tools_dir: join(own, 'tools'), ...(hasProcess && { tool_servers: [hostileProcess] }) };
  // JSON is YAML.
  writeFileSync(join(own, 'toolwharf.yaml'), JSON.stringify(configuration));
  const meter = new URL('loop-meter.ts', import.meta.url).href;
  return startGateway({
    file: fileURLToPath(new URL('../../../src/toolwharf.js', import.meta.url)),
    backendUrl,
    folder,
    flags: ['--import', meter],
    environment: { TOOLWHARF_CONFIG: join(own, 'toolwharf.yaml'), TOOL_SERVER_EGRESS: 'any', ...environment?.(backendUrl) },
  });
}

async function withinPatience<Value>(work: Promise<Value>): Promise<Value> {
  const late = new AbortController();
  const giveUp = pause(patienceMs, undefined, { signal: late.signal }).then(
    () => Promise.reject(new Error(`no end after ${patienceMs / 1_000} s`)),
    () => undefined as never,
  );
  try {
    return await Promise.race([work, giveUp]);
  } finally {
    late.abort();
  }
}

/** Since it was asked last; undefined when the gateway does not say it. */
async function longestStop({ pid }: Gateway, folder: string): Promise<number | undefined> {
  const file = join(folder, `stops-${pid}.json`);
  rmSync(file, { force: true });
  process.kill(pid, 'SIGWINCH');
  for (const deadline = performance.now() + 10_000; performance.now() < deadline; await pause(20)) {
    if (existsSync(file) && readFileSync(file, 'utf8') !== '')
      return (JSON.parse(readFileSync(file, 'utf8')) as { longestMs: number }).longestMs;
  }
  return undefined;
}

function post(url: string, body: unknown, key: string): Promise<{ status: number; text: string }> {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': bytes.byteLength,
    accept: 'application/json, text/event-stream',
  };
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: 'POST', headers, agent: false }, (response) => {
      let text = '';
      // Enough to read what went wrong, or a key.
      response.on('data', (piece: Buffer) => (text += text.length < 100_000 ? piece.toString() : ''));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.once('error', reject);
    });
    asked.once('error', reject).end(bytes);
  });
}
