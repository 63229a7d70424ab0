import { expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { applyRemedies } from '../../../src/models/remedies/apply-remedies.ts';
import { RefusalMemory } from '../../../src/models/remedies/refusal-memory.ts';
import type { Recognised, Remedy } from '../../../src/models/remedies/remedy.ts';
import { askModel } from '../../_support/model-answers.ts';
import { says, ScriptedModel, answerOf } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';

const refusal = new GatewayError('upstream_rejected', 'No temperature here.', { status: 400 });

/** Leaves out the temperature. */
function cooling(recognised: Partial<Recognised> = { pointsAt: 'No temperature' }, maxRepeats = 1): Remedy {
  return {
    kinds: ['parameter'],
    maxRepeats,
    reason: 'request_refused',
    recognise: ({ repeats }) => ({
      lesson: {
        kind: 'parameter',
        subject: 'temperature',
        change: `${repeats}`,
        content: '',
        warning: { code: 'parameter_refused', message: 'Without temperature.' },
      },
      pointsAt: undefined,
      ...recognised,
    }),
    change: (request) => ({ ...request, parameters: {} }),
    concerns: (_lesson, { parameters }) => parameters['temperature'] !== undefined,
  };
}

function start(remedy: Remedy, ...turns: ScriptStep[][]) {
  const model = new ScriptedModel(...turns);
  const memory = new RefusalMemory(() => 0);
  const backend = applyRemedies(model, [remedy], { lessonsOf: (name) => memory.of('llm', name) });
  const run = (): NonNullable<ModelRequest['origin']> => ({ callerId: 'ada', sourceOf: () => undefined });
  async function ask(origin = run()): Promise<string[]> {
    const events: ModelEvent[] = [];
    const request = askModel({ parameters: { temperature: 1 }, messages: [], origin });
    for await (const event of answerOf(backend, request)) events.push(event);
    return events.map(({ type }) => type);
  }
  return { model, run, ask, sent: () => model.requests.map(({ parameters }) => parameters['temperature'] !== undefined) };
}

it('what helped is done at once from then on, and each run says so', async () => {
  const { ask, sent } = start(cooling(), [refusal], says('a'), says('b'));
  expect(await ask()).toEqual(['run-event', 'text', 'finish']);
  expect(await ask()).toEqual(['run-event', 'text', 'finish']);
  expect(sent()).toEqual([true, false, false]);
});

it('what did not help is not remembered', async () => {
  const { ask, sent } = start(cooling(), [refusal], [refusal], says('b'));
  await expect(ask()).rejects.toBe(refusal);
  expect(await ask()).toEqual(['text', 'finish']);
  expect(sent()).toEqual([true, false, true]);
});

it('what the refusal does not point at is tried once, and done for the rest of the run alone', async () => {
  const { ask, run, sent } = start(cooling({}, 3), [refusal], says('a'), says('b'), [refusal], [refusal]);
  const origin = run();
  expect(await ask(origin)).toEqual(['run-event', 'text', 'finish']);
  // The warning was shown in this run.
  expect(await ask(origin)).toEqual(['text', 'finish']);
  await expect(ask()).rejects.toBe(refusal);
  expect(sent()).toEqual([true, false, false, true, false]);
});

it('nothing is repeated more often than its remedy allows, nor for another kind of failure', async () => {
  const { ask, model } = start(cooling({ pointsAt: 'No temperature' }, 2), [refusal], [refusal], [refusal], [new Error('Broken.')]);
  await expect(ask()).rejects.toBe(refusal);
  expect(model.requests).toHaveLength(3);
  await expect(ask()).rejects.toThrow('Broken.');
  expect(model.requests).toHaveLength(4);
});
