import { isDeepStrictEqual } from 'node:util';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ModelEvent } from '../../src/core/chat/chat.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import type { Tool } from '../../src/core/tools/tool.ts';
import { describeUnless, missingVariable } from '../_support/missing.ts';
import { finderOf, GeneratedModel } from '../_support/scripted-model.ts';
import { chatRequest, collect, offering, runContext, textOfEvents, toolNamed } from '../_support/tools.ts';
import { answerIn } from './chat-services.ts';
import type { OutputCase } from './parse-tool-calls/judge-output.ts';

const place = process.env['MODEL_OUTPUTS'];
const file = place !== undefined && statSync(place).isDirectory() ? join(place, 'model-outputs.jsonl') : place;
const cases = (file === undefined ? '' : readFileSync(file, 'utf8'))
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as OutputCase)
  .filter((output) => output.policy !== 'rescue' && output.expect.loose?.includes('calls') !== true);

/** Gives its one answer to every question about tools, in the repair round too, and then answers in words. */
class WeakModel extends GeneratedModel {
  questions = 0;
  readonly #output: OutputCase;

  constructor(output: OutputCase) {
    super();
    this.#output = output;
  }

  async *events(request: { messages: readonly { role: string; content?: unknown }[] }): AsyncGenerator<ModelEvent> {
    const isSelection =
      request.messages.some(({ role, content }) => role === 'system' && /^Available (?:Tools|Functions):/.test(String(content))) &&
      !request.messages.some(({ content }) => String(content).startsWith('Observation: '));
    if (isSelection) this.questions += 1;
    yield { type: 'text', text: isSelection ? this.#output.text : 'Done.' };
    yield { type: 'finish', reason: isSelection && this.#output.finish_reason === 'length' ? 'length' : 'stop' };
  }
}

interface Executed {
  name: string;
  arguments: JsonObject;
}

async function executedFor(output: OutputCase, mode = 'default'): Promise<{ executed: Executed[]; answer: string; questions: number }> {
  const executed: Executed[] = [];
  const tools = output.tools.map((spec): Tool =>
    toolNamed(
      spec.name,
      ({ args }) => {
        executed.push({ name: spec.name, arguments: args });
        return { type: 'result', value: 'ok' };
      },
      { parameters: spec.parameters, isSequential: true },
    ),
  );
  const model = new WeakModel(output);
  const found = { models: finderOf({ model }), tools: offering(...tools) };
  const events = await collect(answerIn(chatRequest({ mode }), runContext(), found));
  return { executed, answer: textOfEvents(events), questions: model.questions };
}

describeUnless(missingVariable('MODEL_OUTPUTS'), 'a weak model that repeats its answer when asked to repair it (MODEL_OUTPUTS)', () => {
  it('calls its tools correctly in at least 95 % of the cases, and never wrongly', async () => {
    const failures: string[] = [];
    const wrong: string[] = [];
    const silent: string[] = [];
    for (const output of cases) {
      const { executed, answer, questions } = await executedFor(output);
      const wanted = output.expect.calls;
      if (!isDeepStrictEqual(executed, wanted)) failures.push(`${output.id}: ${JSON.stringify(executed)}`);
      for (const call of executed) {
        const isWanted = wanted.some((other) => isDeepStrictEqual(other, call));
        if (!isWanted || output.expect.forbid?.includes(call.name) === true) wrong.push(`${output.id}: ${JSON.stringify(call)}`);
      }
      if (answer !== 'Done.' || questions > 2) silent.push(`${output.id}: ${questions} questions, "${answer}"`);
    }
    const share = 1 - failures.length / cases.length;
    const withCalls = cases.filter((output) => output.expect.calls.length > 0);
    const missed = withCalls.filter(({ id }) => failures.some((failure) => failure.startsWith(`${id}:`)));
    const figure = `weak model: ${(share * 100).toFixed(1)} % of ${cases.length} cases; of ${withCalls.length} with calls ${withCalls.length - missed.length} executed`;
    // The figure is meant to be read.
    process.stdout.write(`${figure}\n${failures.map((failure) => `  ${failure}\n`).join('')}`);
    expect(wrong).toEqual([]);
    expect(silent).toEqual([]);
    expect(failures.length / cases.length).toBeLessThanOrEqual(0.05);
    expect(missed.length / withCalls.length).toBeLessThanOrEqual(0.05);
  });

  it('takes the same actions in react mode, and always answers', async () => {
    const labelled = cases.filter((output) => output.options?.mode === 'react');
    expect(labelled.length).toBeGreaterThan(10);
    for (const output of labelled) {
      const { executed, answer } = await executedFor(output, 'react');
      const hasEnded = answer !== '' || output.finish_reason === 'length';
      expect([output.id, executed, hasEnded]).toEqual([output.id, output.expect.calls, true]);
    }
  });
});
