import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { InflightBodyLimit } from '../../../src/http/body/inflight-body-limit.ts';

it('whose key has sent the most loses first, however many people it is', async () => {
  const limit = new InflightBodyLimit(170);
  const refused: string[] = [];
  function arrive(owner: string, bytes: number): void {
    const incoming = Object.assign(new PassThrough(), { complete: false }) as unknown as IncomingMessage;
    const counted = limit.count(incoming, owner);
    counted.on('error', () => refused.push(owner));
    counted.resume().write(Buffer.alloc(bytes));
  }
  for (const person of ['ada', 'bob', 'eve']) arrive(`key/${person}`, person === 'ada' ? 41 : 40);
  arrive('other', 60);
  await new Promise((resolve) => setImmediate(resolve));
  expect(refused).toEqual(['key/ada']);
});
