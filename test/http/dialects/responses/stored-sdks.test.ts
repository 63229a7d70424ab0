import { createOpenAI } from '@ai-sdk/openai';
import { Agent, OpenAIProvider, Runner, tool as agentTool } from '@openai/agents';
import { generateText, stepCountIs, tool } from 'ai';
import type { ModelMessage } from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { calls, says } from '../../../_support/scripted-model.ts';
import { pathsSent } from '../../../gateway/approvals/approval-fixture.ts';
import { adminKey, openOffice } from './stored-fixture.ts';

const city = z.object({ city: z.string() });
const aiTools = { weather: tool({ description: 'Weather', inputSchema: city, execute: async () => 'Sunny' }) };
const round = () => calls(['look', { account: 'a' }], ['weather', { city: 'Rome' }]);

it('the AI SDK in its default refers to stored items, and each call is there once', async () => {
  const { gateway, url } = await openOffice({ turns: [round(), says('Seven, in the sun.'), says('As I said.')] });
  const model = createOpenAI({ baseURL: `${url}/v1`, apiKey: adminKey })('model');
  const asked: ModelMessage[] = [{ role: 'user', content: 'How much?' }];
  const first = await generateText({ model, messages: asked, tools: aiTools, stopWhen: stepCountIs(3) });
  expect(first.text).toBe('Seven, in the sun.');
  const said = first.steps.flatMap((step) => step.response.messages);
  const messages: ModelMessage[] = [...asked, ...said, { role: 'user', content: 'Sure?' }];
  const second = await generateText({ model, messages, tools: aiTools });
  expect(second.text).toBe('As I said.');
  const last = gateway.model.requests.at(-1)?.messages ?? [];
  expect(last.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant', 'user']);
  expect(pathsSent(gateway)).toEqual(['/look']);
});

it('the AI SDK goes on with a response', async () => {
  const { url, lastAsked } = await openOffice({ turns: [says('Seven.'), says('As I said.')] });
  const model = createOpenAI({ baseURL: `${url}/v1`, apiKey: adminKey })('model');
  const first = await generateText({ model, prompt: 'How much?' });
  const previousResponseId = String(first.providerMetadata?.['openai']?.['responseId']);
  await generateText({ model, prompt: 'Sure?', providerOptions: { openai: { previousResponseId } } });
  expect(lastAsked()).toEqual([
    ['user', 'How much?'],
    ['assistant', 'Seven.'],
    ['user', 'Sure?'],
  ]);
});

it.each([false, true])('the Agents SDK goes on with a response, in a run and after it (stream: %s)', async (stream) => {
  const { gateway, url } = await openOffice({ turns: [round(), says('Seven, in the sun.'), says('As I said.')] });
  const weather = agentTool({ name: 'weather', description: 'Weather', parameters: city, execute: async () => 'Sunny' });
  const agent = new Agent({ name: 'Guide', instructions: 'Help.', model: 'model', tools: [weather] });
  const modelProvider = new OpenAIProvider({ baseURL: `${url}/v1`, apiKey: adminKey, useResponses: true });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  async function run(input: string, previousResponseId?: string): Promise<{ output: unknown; lastId: string | undefined }> {
    const options = { ...(previousResponseId !== undefined && { previousResponseId }) };
    if (!stream) {
      const result = await runner.run(agent, input, options);
      return { output: result.finalOutput, lastId: result.lastResponseId };
    }
    const result = await runner.run(agent, input, { ...options, stream: true });
    await result.completed;
    return { output: result.finalOutput, lastId: result.lastResponseId };
  }
  const first = await run('How much?');
  expect(first.output).toBe('Seven, in the sun.');
  const second = await run('Sure?', first.lastId);
  expect(second.output).toBe('As I said.');
  const last = gateway.model.requests.at(-1)?.messages ?? [];
  expect(last.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool', 'assistant', 'user']);
  expect(pathsSent(gateway)).toEqual(['/look']);
});
