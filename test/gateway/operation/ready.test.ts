import { expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { testApp } from '../../_support/build-app.ts';

it('a gateway whose database cannot be written is not ready, which it logs once, until it can be again', async () => {
  let fault: GatewayError | undefined;
  const requireWritable = async (): Promise<void> => {
    if (fault !== undefined) throw fault;
  };
  const app = await testApp({ OLLAMA_BASE_URLS: ';' }, { requireWritable });
  onTestFinished(() => app.close());
  const ready = async (): Promise<unknown[]> => {
    const answer = await app.server.inject({ url: '/ready' });
    return [answer.statusCode, answer.json<{ reason?: string }>().reason];
  };
  expect(await ready()).toEqual([200, undefined]);
  fault = new GatewayError('storage_unavailable', 'data/toolwharf.db cannot grow: the disk is full.');
  expect([await ready(), await ready()]).toEqual([
    [503, 'storage'],
    [503, 'storage'],
  ]);
  expect(app.logLines.filter((line) => line.includes('the disk is full'))).toHaveLength(1);
  fault = undefined;
  expect(await ready()).toEqual([200, undefined]);
});
