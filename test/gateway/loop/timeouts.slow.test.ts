import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { backendOf, testApp } from '../../_support/build-app.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import { documentOf, readSeen, serverOf } from '../gateway.ts';

it('calls that run into their time limit at once all read the same words', async () => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const count = 60;
  const parameters: JsonObject = { type: 'object', properties: { n: { type: 'integer' } } };
  const slow = serverOf('slow', documentOf({ wait: parameters }), {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    timeoutMs: 700,
    extra: { config: { parallel: true } },
  });
  const model = new ScriptedModel(calls(...Array.from({ length: count }, (_, n): [string, unknown] => ['wait', { n }])), says('Too slow.'));
  const app = await testApp({}, { backends: [backendOf(model)], registry: memoryRegistry([slow]) });
  try {
    const payload = { model: 'model', messages: [{ role: 'user', content: 'Go' }], stream: true, stream_options: { include_events: true } };
    const headers = { host: '127.0.0.1:8080' };
    const { body } = await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
    const errors = readSeen(body)
      .eventsOf('tool.result')
      .map(({ error }) => error);
    expect(errors).toEqual(
      Array.from({ length: count }, () => ({
        code: 'tool_timeout',
        message: "Tool 'wait' timed out after 0.7s",
        state: 'outcome_unknown',
      })),
    );
  } finally {
    await app.close();
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  }
});
