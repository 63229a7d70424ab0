import { setImmediate as nextTick } from 'node:timers/promises';
import type { ChatMessage, ModelEvent } from '../../../core/chat/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { runSteps, StopReading, type Emit } from '../../../shared/async/emit.ts';
import { withRemedies } from '../../../shared/refusals/with-remedies.ts';
import type { ModelBackend, ModelRequest } from '../../../core/models/model.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import { callerSpecs, withoutFunctions } from '../../tool-choice/caller-functions.ts';
import { inlineToolResults } from '../../messages/inline-tool-results.ts';
import { AnswerRepairs, repairedInPlace } from '../../parse-tool-calls/json/repair-json.ts';
import { createToolCallParser } from '../../parse-tool-calls/tool-call-parser.ts';
import { reactMessages } from './react-prompt.ts';
import { ReactStep } from './react-step.ts';
import { demandedForm } from '../demanded-form.ts';
import { EarlierTexts } from '../earlier-texts.ts';
import { shownTexts } from '../shown-texts.ts';
import { repairInWorker } from '../repair-in-worker.ts';
import { slicesOf } from '../slices-of.ts';

/** After this many characters behind an action, which are invented, the stream of a backend without stop sequences is closed. */
export const inventedCharacters = 400;

export interface ReasoningOptions {
  backend: ModelBackend;
  newCallId: () => string;
  caller: { readonly id: string };
}

/** OpenAI's maximum. The caller's stop sequences come after `observationStop`. */
const maxStops = 4;
const observationStop = '\nObservation:';

/**
 * Makes a model without native calls look like one that has them: it writes labelled text (Thought, Action, Action Input, Observation, Final Answer),
 * and its actions become tool calls. Thoughts become reasoning, the final answer becomes text. One wrapper serves one run, whose steps it stores.
 */
export function reasonAndAct({ backend, newCallId, caller }: ReasoningOptions): ModelBackend {
  const steps = new Map<string, string>();
  let takesStop = true;

  /** Adds a stop sequence before observations, unless the backend has refused `stop`. */
  function requestStep(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    if (!takesStop) return backend.answer(request, emit);
    return withRemedies(withStop(request), (next, emitNext: Emit<ModelEvent>) => backend.answer(next, emitNext), {
      emit,
      remedy(error): ModelRequest | undefined {
        if (!refusesStop(error)) return undefined;
        takesStop = false;
        return { ...request, purpose: { type: 'round', ...request.purpose, reason: 'stop_refused' } };
      },
    });
  }

  async function takeStep(request: ModelRequest, specs: readonly ToolSpec[], emit: Emit<ModelEvent>): Promise<void> {
    const form = demandedForm(request.parameters);
    const inLabels = withLoggedOffer(stepRequest(request, reactMessages(request.messages, specs, steps)), request, specs);
    // A call that the model merely repeats from a page, a result or a message must not run, in whatever form it is written.
    const earlier = new EarlierTexts(() => shownTexts(request.messages), { isReact: true, caller, signal: request.signal });
    const repairs = new AnswerRepairs({ inPlace: repairedInPlace });
    const parser = createToolCallParser({ tools: specs, isReact: true, quotes: earlier, repairs });
    const repair = (): Promise<void> => repairInWorker(repairs, { caller, signal: request.signal });
    const withholdsText = form !== undefined && specs.length > 0;
    const read: ModelEvent[] = [];
    const step = new ReactStep(parser, { withholdsText, isFirst: steps.size === 0, earlier, repairs, repair, read });
    const reader = new StepReader(step, read, emit);

    try {
      await requestStep(inLabels, (events) => runSteps(reader.readEvents(events)));
    } catch (error) {
      if (error !== reader.stopReading) throw error;
    }
    const { finish } = reader;
    for (const pause of step.end(finish.reason === 'length')) await pause;
    await emit(read);
    const { call } = step;
    // An action of an answer that ended in an unknown way may be half of what the model meant.
    if (call !== undefined && specs.length > 0 && finish.unknownReason === undefined) {
      const id = newCallId();
      steps.set(id, step.written);
      return emit([
        { type: 'tool-call', call: { id, name: call.name, arguments: call.arguments } },
        { type: 'finish', reason: finish.reason === 'length' ? 'length' : 'tool_calls' },
      ]);
    }
    // The caller's output format rules out labels, so the answer is requested separately.
    if (form !== undefined && specs.length > 0)
      return backend.answer({ ...plainRequest(request), purpose: { type: 'answer', reason: 'form_demanded' } }, emit);
    return emit([finish]);
  }

  return {
    async answer(request, emit) {
      const specs = request.toolChoice === 'none' ? [] : [...request.tools, ...callerSpecs(request.callerTools)];
      const isAmidSteps = request.messages.some(
        (message) => message.role === 'assistant' && message.toolCalls.some(({ id }) => steps.has(id)),
      );
      if (specs.length > 0 || (isAmidSteps && demandedForm(request.parameters) === undefined)) return takeStep(request, specs, emit);
      return backend.answer(plainRequest(request), emit);
    },
  };
}

/** Reads the events of a step's answer until the model invents an observation. */
class StepReader {
  /** Thrown when the model keeps inventing observations because no stop sequence works. */
  readonly stopReading = new StopReading();
  finish: Extract<ModelEvent, { type: 'finish' }> = { type: 'finish', reason: 'stop' };
  readonly #step: ReactStep;
  readonly #read: ModelEvent[];
  readonly #emit: Emit<ModelEvent>;

  /** `read`: receives what the step reads, until it is emitted. */
  constructor(step: ReactStep, read: ModelEvent[], emit: Emit<ModelEvent>) {
    this.#step = step;
    this.#read = read;
    this.#emit = emit;
  }

  *readEvents(events: readonly ModelEvent[]): Generator<Promise<void> | undefined, void> {
    for (const event of events) {
      if (event.type === 'finish') this.finish = event;
      else if (event.type === 'text') yield* this.#readText(event.text);
      else this.#read.push(event);
      if (this.#step.invented > inventedCharacters) throw this.stopReading;
    }
    yield this.#emit(this.#read.splice(0));
  }

  *#readText(text: string): Generator<Promise<void> | undefined, void> {
    for (const slice of slicesOf(text)) {
      if (slice.isLater) {
        yield this.#emit(this.#read.splice(0));
        yield nextTick();
      }
      yield* this.#step.push(slice.text);
    }
  }
}

function stepRequest(request: ModelRequest, messages: ChatMessage[]): ModelRequest {
  const { response_format: _form, format: _format, ...parameters } = request.parameters;
  return { ...withoutFunctions(request), messages, parameters };
}

/** Records functions and tool choice for the log: they are part of the prompt, not of the model request. */
function withLoggedOffer(step: ModelRequest, { toolChoice, purpose }: ModelRequest, specs: readonly ToolSpec[]): ModelRequest {
  return { ...step, purpose: { type: 'round', ...purpose, toolChoice, functions: specs.map(({ name }) => name) } };
}

/** Without labels: tool results are inlined into the user's message. */
function plainRequest(request: ModelRequest): ModelRequest {
  return { ...withoutFunctions(request), messages: inlineToolResults(request.messages) };
}

function withStop(request: ModelRequest): ModelRequest {
  const given = [request.parameters['stop']].flat().filter((stop) => typeof stop === 'string');
  return { ...request, parameters: { ...request.parameters, stop: [observationStop, ...given].slice(0, maxStops) } };
}

function refusesStop(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'upstream_rejected' && /\bstop\b/i.test(`${error.param ?? ''} ${error.message}`);
}
