import { expect, it } from 'vitest';
import { limits } from '../../../src/core/limits.ts';
import { readJsonAnswer } from '../../../src/models/transport/read-json-answer.ts';
import { createSecretMask } from '../../../src/shared/secrets/secret-mask.ts';
import { watchJobNames } from '../../_support/watch-job-names.ts';
import { outboundBody } from '../../_support/outbound-body.ts';

async function* body(text: string): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < text.length; start += 100_000) yield Buffer.from(text.slice(start, start + 100_000));
}
const read = (text: string) =>
  readJsonAnswer({ status: 200, headers: {}, body: outboundBody(body(text)) }, 'lab', createSecretMask(['sk-secret-of-the-gateway']));
const lists = (count: number): string => `[${Array.from({ length: count }, () => '[]').join()}]`;

it.each<[string, string, boolean]>([
  ['an ordinary answer in place', '{"a":[1,{"b":null}]}', false],
  ['a large text aside', JSON.stringify({ content: 'x'.repeat(limits.inPlaceCharacters) }), true],
  ['many values aside', lists(20_000), true],
  ['very many numbers aside', `[${Array.from({ length: 300_000 }, () => '0.5').join()}]`, true],
])('reads %s', async (_what, text, isInWorker) => {
  const workerJobs = watchJobNames();
  // Compared as text: an assertion would print megabytes.
  expect(JSON.stringify(await read(text)) === text).toBe(true);
  expect(workerJobs).toEqual(isInWorker ? ['parseJsonJob'] : []);
});

it.each<[string, string, string]>([
  ['many values', lists(60_000), 'too many values (at most 50000)'],
  ['more values than may be parsed at all', lists(2_000_000), 'too many values'],
  ['many names', `{${Array.from({ length: 9_000 }, (_, index) => `"k${index}":[1,2]`).join()}}`, 'too many field names (at most 8000)'],
  ['brackets', '['.repeat(600_000), 'nested deeper than 256 levels'],
  ['no JSON', `{"a":${'x'.repeat(600_000)}`, 'malformed JSON'],
  ['little and no JSON', '<p>', 'malformed JSON'],
])('refuses %s', async (_what, text, message) => {
  await expect(read(text)).rejects.toMatchObject({ code: 'upstream_invalid_response', message: expect.stringContaining(message) });
});

it.each([
  ['in place', ''],
  ['aside', 'x'.repeat(limits.inPlaceCharacters)],
])('masks secrets of the gateway in what is parsed %s', async (_where, more) => {
  expect(await read(JSON.stringify({ echo: 'Bearer sk-secret-of-the-gateway', more }))).toEqual({ echo: 'Bearer [secret]', more });
});
