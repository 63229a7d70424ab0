import { expect, it } from 'vitest';
import type { RecordedRequest } from '../../../src/core/runs/recorded-request.ts';
import { createSecretMask } from '../../../src/shared/secrets/secret-mask.ts';
import { recordingSend } from '../../../src/tools/outgoing/record-requests.ts';
import { jsonResponse } from '../scripted-send.ts';

it('a token that was renewed while the request was under way is hidden like the one before', async () => {
  let token = 'CANARY-old';
  const requests: RecordedRequest[] = [];
  const recording = {
    requests,
    get mask() {
      return createSecretMask([token]);
    },
    isCarried: () => false,
  };
  const send = recordingSend(async () => {
    token = 'CANARY-new';
    return { ...jsonResponse({ said: 'CANARY-old and CANARY-new' }), headers: { 'x-said': 'CANARY-old and CANARY-new' } };
  }, recording);
  const { body } = await send({
    method: 'GET',
    url: 'http://peer.test/mcp',
    headers: { 'x-token': 'CANARY-old' },
    trust: { kind: 'request', mayReachPrivate: false },
    signal: new AbortController().signal,
    firstByteTimeoutMs: 1_000,
    idleTimeoutMs: 1_000,
  });
  await body.readEach(() => undefined);
  const [{ headers, answer } = {}] = requests;
  expect([headers, answer?.headers, answer?.readBody()]).toEqual([
    { 'x-token': '[secret]' },
    { 'x-said': '[secret] and [secret]' },
    { text: '{"said":"[secret] and [secret]"}' },
  ]);
});

it('a parameter that carries a credential is hidden, also behind a million question marks', async () => {
  const requests: RecordedRequest[] = [];
  const recording = { requests, mask: createSecretMask([]), isCarried: (part: object) => 'parameter' in part && part.parameter === 'key' };
  const marks = '?'.repeat(1_000_000);
  await recordingSend(
    async () => jsonResponse({}),
    recording,
  )({
    method: 'GET',
    url: `http://peer.test/${marks}key=CANARY&a=b`,
    headers: {},
    trust: { kind: 'request', mayReachPrivate: false },
    signal: new AbortController().signal,
    firstByteTimeoutMs: 1_000,
    idleTimeoutMs: 1_000,
  });
  expect(requests.map(({ url = '' }) => url.replace(marks, ''))).toEqual(['http://peer.test/key=[secret]&a=b']);
});
