import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { createOutbound } from '../../../src/policy/outbound/outbound-request.ts';

const megabyte = 1024 * 1024;

function usedMegabytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / megabyte;
}

it('long addresses of calls are not kept', async () => {
  const { send, close } = createOutbound({ egress: { mode: 'public', allow: [] } });
  onTestFinished(close);
  // A port of another protocol on this machine: nothing is sent anywhere.
  const origin = 'http://127.0.0.1:1';
  const before = usedMegabytes();
  for (let call = 0; call < 50; call += 1) {
    const request = {
      url: `${origin}/${String(call).repeat(megabyte / 2)}`,
      method: 'GET',
      trust: { kind: 'configured', origin },
      signal: AbortSignal.timeout(10_000),
      firstByteTimeoutMs: 5_000,
      idleTimeoutMs: 5_000,
    } as const;
    await expect(send(request)).rejects.toThrow('127.0.0.1');
  }
  expect(usedMegabytes() - before).toBeLessThan(10);
});
