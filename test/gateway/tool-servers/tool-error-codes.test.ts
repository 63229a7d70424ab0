import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OutboundError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { limits } from '../../../src/core/limits.ts';
import { listen } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { functionGateway } from '../functions/function-gateway.ts';
import { answerOf, documentOf, readSeen, serverOf } from '../gateway.ts';
import { jsonResponse, neverAnswers } from '../../tools/scripted-send.ts';

const count = { type: 'object', properties: { n: { type: 'integer' }, text: { type: 'string' } } };
const operations = ['works', 'fails', 'hangs', 'denied', 'cut', 'refused', 'large', 'guarded'];
const servers = [
  serverOf('tools', documentOf(Object.fromEntries(operations.map((name) => [name, count]))), {
    extra: { config: { needs_approval: ['guarded'] } },
  }),
  serverOf('off', documentOf({ any: count }), { isEnabled: false }),
  serverOf('gone', {}, { type: 'mcp' }),
];
const answers = {
  'http://tools.test/works': { ok: true },
  'http://tools.test/fails': async () => jsonResponse({ error: 'no' }, 500),
  'http://tools.test/hangs': neverAnswers,
  'http://tools.test/denied': new OutboundError('denied', 'this address is forbidden'),
  'http://tools.test/cut': new OutboundError('cut', 'the connection was cut'),
  'http://tools.test/refused': new OutboundError(
    'unreachable',
    'nothing listens there',
    Object.assign(new Error(), { code: 'ECONNREFUSED' }),
  ),
  'http://tools.test/large': answerOf(JSON.stringify('x'.repeat(limits.toolResultBytes + 1))),
  'http://gone.test/': new OutboundError('unreachable', 'nothing listens there'),
  'http://gone.test': new OutboundError('unreachable', 'nothing listens there'),
};
const files = {
  'throws.ts': functionModule('throws', { execute: '() => { throw new Error("secret") }' }),
  'tells.ts': functionModule('tells', { execute: '() => { throw new ToolError("not today") }' }),
  'asks.ts': functionModule('asks', { execute: '(_, { ask }) => ask("Which one?")' }),
  'disabled.ts': functionModule('disabled', { more: 'isEnabled: () => false' }),
};

function gateway(...turns: ScriptStep[][]) {
  return functionGateway(files, { turns, servers, answers, environment: { TOOL_TIMEOUT_MS: '30' } });
}

const cutCall: ScriptStep[] = [...calls(['works', {}]).slice(0, -1), { type: 'finish', reason: 'length' }];
const large = 'x'.repeat(limits.argumentsBytes);

it.each<[string, string | ScriptStep[], unknown, string | undefined, string?]>([
  ['one that works', 'works', {}, undefined],
  ['a name that nobody offers', 'nowhere', {}, 'tool_not_found'],
  ['one that is switched off', 'any', {}, 'tool_not_found'],
  ['arguments that are no JSON', 'works', '{"n":', 'args_not_json'],
  ['arguments of another type', 'works', { n: 'many' }, 'args_invalid'],
  ['arguments beyond the limit', 'works', { text: large }, 'args_too_large'],
  ['a call that was cut', cutCall, {}, 'args_truncated'],
  ['one that takes too long', 'hangs', {}, 'tool_timeout', 'outcome_unknown'],
  ['one that answers with an error', 'fails', {}, 'tool_error'],
  ['one that cannot be reached', 'refused', {}, 'tool_error', 'not_started'],
  ['one that may have taken effect', 'cut', {}, 'tool_error', 'outcome_unknown'],
  ['an address that is forbidden', 'denied', {}, 'egress_denied', 'not_started'],
  ['an exception', 'throws', {}, 'tool_internal_error'],
  ['words for the model', 'tells', {}, 'tool_error'],
  ['a question without a session', 'asks', {}, 'client_unavailable'],
])('in a chat, %s is told by its code', async (_name, called, args, code, state) => {
  await using app = await gateway(typeof called === 'string' ? calls([called, args]) : called, says('Done.'));
  const seen = await app.ask();
  const [result] = seen.eventsOf('tool.result');
  const error = result?.['error'] as JsonObject | undefined;
  expect([error?.['code'], error?.['state']]).toEqual([code, state]);
  expect(JSON.stringify(seen.raw)).not.toContain('secret');
});

describe('invoked,', () => {
  let app: Awaited<ReturnType<typeof gateway>>;
  beforeAll(async () => {
    app = await gateway();
  });
  afterAll(() => app[Symbol.asyncDispose]());

  it.each<[string, string, unknown, number, string | undefined]>([
    ['one that works', 'tools/works', {}, 200, undefined],
    ['a name that nobody offers', 'nowhere', {}, 404, 'not_found'],
    ['a function that is not there', 'tools/nowhere', {}, 404, 'not_found'],
    ['a server that is switched off', 'off/any', {}, 200, 'tool_disabled'],
    ['an MCP server that is gone', 'gone/any', {}, 200, 'mcp_unavailable'],
    ['arguments that are no object', 'tools/works', 'n', 400, 'invalid_request'],
    ['arguments of another type', 'tools/works', { n: 'many' }, 400, 'args_invalid'],
    ['arguments beyond the limit', 'tools/works', { text: large }, 400, 'args_too_large'],
    ['one that takes too long', 'tools/hangs', {}, 200, 'tool_timeout'],
    ['one that answers with an error', 'tools/fails', {}, 200, 'tool_error'],
    ['one that cannot be reached', 'tools/refused', {}, 200, 'tool_error'],
    ['one that may have taken effect', 'tools/cut', {}, 200, 'tool_error'],
    ['an address that is forbidden', 'tools/denied', {}, 200, 'egress_denied'],
    ['one that needs approval', 'tools/guarded', {}, 409, 'approval_required'],
    ['an exception', 'function:throws', {}, 200, 'tool_internal_error'],
    ['words for the model', 'function:tells', {}, 200, 'tool_error'],
    ['a question without a session', 'function:asks', {}, 200, 'client_unavailable'],
  ])('%s is told by its status and code', async (_name, id, args, status, code) => {
    const answer = await app.invoke(id, args as object);
    const error = answer.body['error'] as JsonObject | undefined;
    expect([answer.status, error?.['code']]).toEqual([status, code]);
    expect(JSON.stringify(answer.body)).not.toContain('secret');
  });
});

it('what is cut has its code in the event of the limit, and a mark in the result', async () => {
  await using app = await gateway(calls(['large', {}]), says('Done.'));
  // A real port: what is injected has no reader, for which a stream of this size would wait.
  const url = await listen(app.app);
  const body = { model: 'model', messages: [{ role: 'user', content: 'Go' }], stream: true, stream_options: { include_events: true } };
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) });
  const seen = readSeen(await answer.text());
  expect(seen.eventsOf('limit.reached')).toMatchObject([{ limit: 'result_bytes', code: 'output_truncated' }]);
  expect(seen.eventsOf('tool.result')).toMatchObject([{ truncated: true }]);
  expect((await app.invoke('tools/large')).body).toMatchObject({ truncated: true });
});

it('an MCP server that is gone is named in a chat by the same code', async () => {
  await using app = await gateway(says('Done.'));
  const codes = (await app.ask()).eventsOf('warning').map(({ code }) => code);
  expect(codes).toContain('mcp_unavailable');
});
