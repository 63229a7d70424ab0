import { afterEach, describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import type { ModelBackend, ModelRequest } from '../../../src/core/models/model.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { createAnthropicBackend } from '../../../src/models/anthropic/anthropic.ts';
import { directSend } from '../../_support/direct-send.ts';
import { askModel, fold, readRecording } from '../../_support/model-answers.ts';
import { answerOf } from '../../_support/scripted-model.ts';
import { respond, startUpstream, stream, type UpstreamServer } from '../../_support/upstream-server.ts';

const open: UpstreamServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

/** A server that refuses a request as `refusalOf` says, and answers any other. */
async function refusing(refusalOf: (body: JsonObject) => string | undefined): Promise<{ server: UpstreamServer; backend: ModelBackend }> {
  const server = await startUpstream((request) => {
    const message = refusalOf(request.json() as JsonObject);
    if (message === undefined) return stream([readRecording('anthropic-text')]);
    return respond(400, { type: 'error', error: { type: 'invalid_request_error', message } });
  });
  open.push(server);
  const connection = { baseUrl: `${server.origin}/v1`, key: 'k', firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000 };
  return { server, backend: createAnthropicBackend(connection, directSend) };
}

async function ask(backend: ModelBackend, fields: Partial<ModelRequest>): Promise<ModelEvent[]> {
  const origin = { callerId: 'key-1', sourceOf: () => undefined };
  const events = await Array.fromAsync(answerOf(backend, askModel({ origin, ...fields })));
  expect(fold(events).text).toBe('It is 14:05 in Zürich 🕑.');
  return events;
}

const codesIn = (events: readonly ModelEvent[]): unknown[] =>
  events.flatMap((event) => (event.type === 'run-event' && event.event.type === 'warning' ? [event.event.data.code] : []));
const bodies = ({ requests }: UpstreamServer): JsonObject[] => requests.map((request) => request.json() as JsonObject);

describe('a model that takes no parameters of sampling', () => {
  it('is asked without them, one after the other, and the next time at once', async () => {
    const { server, backend } = await refusing((body) => {
      const name = ['temperature', 'top_p', 'top_k'].find((one) => body[one] !== undefined);
      return name === undefined ? undefined : `\`${name}\` is deprecated for this model.`;
    });
    const parameters = { temperature: 0.2, top_p: 0.9, max_tokens: 9 };
    expect(codesIn(await ask(backend, { parameters }))).toEqual(['parameter_refused', 'parameter_refused']);
    expect(server.requests).toHaveLength(3);
    await ask(backend, { parameters });
    expect(bodies(server)[3]).not.toHaveProperty('temperature');
    expect(bodies(server)).toHaveLength(4);
  });

  it('or not two at a time keeps the temperature', async () => {
    const { server, backend } = await refusing(({ temperature, top_p: topP }) =>
      temperature !== undefined && topP !== undefined
        ? '`temperature` and `top_p` cannot both be specified for this model. Please use only one.'
        : undefined,
    );
    await ask(backend, { parameters: { temperature: 0.2, top_p: 0.9 } });
    expect(bodies(server)[1]).toMatchObject({ temperature: 0.2 });
    // It takes the other one by itself.
    await ask(backend, { parameters: { top_p: 0.9 } });
    expect(bodies(server)[2]).toMatchObject({ top_p: 0.9 });
  });
});

describe('a model that thinks in another way', () => {
  it('gets a budget for an effort', async () => {
    const { server, backend } = await refusing(({ thinking }) =>
      (thinking as JsonObject | undefined)?.['type'] === 'adaptive' ? 'adaptive thinking is not supported on this model' : undefined,
    );
    expect(codesIn(await ask(backend, { parameters: { reasoning_effort: 'low', max_tokens: 20_000 } }))).toEqual(['parameter_renamed']);
    expect(bodies(server)[1]).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 4_096 } });
    expect(bodies(server)[1]).not.toHaveProperty('output_config');
  });

  it('is asked without thinking where it takes neither, or must call a function', async () => {
    const { server, backend } = await refusing(({ thinking, tool_choice: choice }) => {
      if (thinking === undefined) return undefined;
      return choice === undefined
        ? 'thinking: Extra inputs are not permitted'
        : 'Thinking may not be enabled when tool_choice forces tool use.';
    });
    const tools = [{ name: 'f', description: '', parameters: { type: 'object' } }];
    const parameters = { reasoning_effort: 'low' };
    expect(codesIn(await ask(backend, { parameters }))).toEqual(['parameter_renamed', 'parameter_refused']);
    expect(server.requests).toHaveLength(3);
    expect(codesIn(await ask(backend, { parameters, tools, toolChoice: 'required' }))).toEqual(['parameter_refused']);
    expect(bodies(server)[4]).toMatchObject({ tool_choice: { type: 'any' } });
  });

  it('is asked without thinking where the thinking before a call is missing', async () => {
    const { server, backend } = await refusing(({ thinking }) =>
      thinking === undefined ? undefined : 'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
    );
    expect(codesIn(await ask(backend, { parameters: { reasoning_effort: 'low' } }))).toContain('parameter_refused');
    expect(bodies(server).at(-1)).not.toHaveProperty('thinking');
  });

  it('keeps what the caller wrote in the form of the API, with its refusal', async () => {
    const { server, backend } = await refusing(() => 'thinking.type.enabled is not supported for this model.');
    const parameters = { thinking: { type: 'enabled', budget_tokens: 2_000 }, reasoning_effort: 'low' };
    await expect(ask(backend, { parameters })).rejects.toMatchObject({ code: 'upstream_rejected' });
    expect(server.requests).toHaveLength(1);
  });
});

it('lets a model decide that cannot be forced to call', async () => {
  const { server, backend } = await refusing(({ tool_choice: choice }) =>
    choice === undefined ? undefined : "tool_choice: 'any' is not supported on this model; use 'auto'.",
  );
  const tools = [{ name: 'f', description: '', parameters: { type: 'object' } }];
  expect(codesIn(await ask(backend, { tools, toolChoice: 'required' }))).toEqual(['tool_choice_refused']);
  expect(bodies(server)[1]).not.toHaveProperty('tool_choice');
});

it('passes on what it knows no remedy for', async () => {
  const { server, backend } = await refusing(() => 'messages.0.content.0.image.source.base64.data: invalid');
  await expect(ask(backend, { parameters: { temperature: 0, reasoning_effort: 'low' } })).rejects.toMatchObject({ status: 400 });
  expect(server.requests).toHaveLength(1);
});
