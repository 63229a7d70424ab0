import { warningEvent } from '../../../core/chat/caller-warning.ts';
import { derivedParameters } from '../../../core/chat/derived-parameters.ts';
import { forOllamaOnly } from '../../../core/chat/for-ollama-only.ts';
import type { ChatMessage, ModelEvent } from '../../../core/chat/chat.ts';
import type { Emit } from '../../../shared/async/emit.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import type { ModelBackend, ModelRequest } from '../../../core/models/model.ts';
import { wholeParameters, type Tool, type ToolOffer, type ToolSpec } from '../../../core/tools/tool.ts';
import { callerSpecs, withoutFunctions } from '../../tool-choice/caller-functions.ts';
import { appendToLastUser, inlineToolResults } from '../../messages/inline-tool-results.ts';
import { forcedChoiceIn } from '../../tool-choice/force-tool-choice.ts';
import { mayRunAs } from '../../fit-calls/find-offered-name.ts';
import { rulesFor, strictRules } from '../../fit-calls/fit-arguments.ts';
import { withModelHooks, type HookedRun } from '../../hooks/hook-model.ts';
import type { DroppedCall } from './read-selection.ts';
import { selectCalls, type SelectionRequest } from './select-calls.ts';

interface SelectionOptions {
  backend: ModelBackend;
  /** The model that chooses: the task model if one is set, else the chat model. */
  task: { backend: ModelBackend; model: string };
  template: string;
  /** Values for placeholders of the template besides `{{TOOLS}}`. */
  variables: ReadonlyMap<string, string>;
  /** At most one call per selection (mode `simple`). */
  isSingleCall: boolean;
  /** Adds inline files to the messages of the answer. The selection does not see them. */
  withFiles: (messages: readonly ChatMessage[]) => ChatMessage[];
  /** Adds the pictures of results to the request of the answer. */
  addPictures: (backend: ModelBackend) => ModelBackend;
  newCallId: () => string;
  /** The tool result at the end of the first request belongs to a call of another preset. */
  isAfterHandoff: boolean;
  caller: { readonly id: string };
  /** The tools of the run, and those that may be found during it. */
  offer: ToolOffer;
  /** Hooks are asked about the selection and about the answer. */
  hooked: HookedRun;
}

/**
 * Makes a model without native calls look like one that has them: a selection chooses the calls, and their results are put into the user's message
 * for the answer. The loop sees no difference. One wrapper serves one run.
 */
export function selectToolsByPrompt(options: SelectionOptions): ModelBackend {
  let refused: readonly DroppedCall[] = [];
  let isResultOfOtherPreset = options.isAfterHandoff;
  const helpers = helperNames(options.offer);

  /** Answers with the chosen calls, or with nothing. */
  const choosing: ModelBackend = {
    async answer(request, emit) {
      const selecting = selectionRequest(request, options, emit);
      const selection = await selectCalls(selecting);
      refused = selection.refused;
      if (selecting.isForced && selection.calls.length === 0) {
        const message = 'The request demands a call of a function, and the model chose none that can be made.';
        await emit([warningEvent({ code: 'tool_choice_not_honoured', message })]);
      }
      const calls = selection.calls.map(({ name, args, given }) => {
        // The loop fits the arguments of its own functions, and tells the model what it changed.
        const isOwn = toolIn(options.offer, name) !== undefined;
        return { id: options.newCallId(), name, arguments: JSON.stringify(isOwn ? given : args) };
      });
      const reason = calls.length > 0 ? 'tool_calls' : 'stop';
      await emit([...calls.map((call) => ({ type: 'tool-call' as const, call })), { type: 'finish', reason }]);
    },
  };
  const chooser = withModelHooks(choosing, options.hooked, 'selection');
  const answerer = withModelHooks(options.addPictures(options.backend), options.hooked, 'answer');

  return {
    async answer(request, emit) {
      // What helpers gave is read by another selection.
      const isAnswering = !isResultOfOtherPreset && request.messages.at(-1)?.role === 'tool' && !endsInLookup(request.messages, helpers);
      isResultOfOtherPreset = false;
      const mayChoose = !isAnswering && request.toolChoice !== 'none' && offeredIn(request).length > 0;
      if (mayChoose && (await hasAnswered(chooser, request, emit))) return;
      await answerer.answer(answerRequest(request, refused, options), emit);
    },
  };
}

/** Whether calls were chosen, or a hook has answered in the place of the selection. */
async function hasAnswered(chooser: ModelBackend, request: ModelRequest, emit: Emit<ModelEvent>): Promise<boolean> {
  let isAnswered = false;
  await chooser.answer(request, (events) => {
    isAnswered ||= events.some(({ type }) => type === 'tool-call' || type === 'text');
    const shown = isAnswered ? events : events.filter(({ type }) => type !== 'finish');
    return shown.length === 0 ? undefined : emit(shown);
  });
  return isAnswered;
}

/** Names of the tools that find and describe others, or bring them in. */
function helperNames({ tools, finder, describer }: ToolOffer): ReadonlySet<string> {
  const offered = tools.values().filter(({ isHelper }) => isHelper === true);
  return new Set([...offered, finder?.tool, describer].flatMap((tool) => tool?.spec.name ?? []));
}

function toolIn({ tools, finder }: ToolOffer, name: string): Tool | undefined {
  return tools.get(name) ?? finder?.deferred.get(name);
}

/** Whether the last calls were calls of helpers alone. */
function endsInLookup(messages: readonly ChatMessage[], helpers: ReadonlySet<string>): boolean {
  const last = messages.findLast((message) => message.role !== 'tool');
  return last?.role === 'assistant' && last.toolCalls.length > 0 && last.toolCalls.every(({ name }) => helpers.has(name));
}

/** What helpers gave has served its purpose once another function was called; a whole schema would only distract from its result. */
function withoutLookups(messages: readonly ChatMessage[], helpers: ReadonlySet<string>): ChatMessage[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []));
  const lookups = new Set(calls.filter(({ name }) => helpers.has(name)).map(({ id }) => id));
  const hasOthers = messages.some((message) => message.role === 'tool' && !lookups.has(message.toolCallId));
  if (lookups.size === 0 || !hasOthers) return [...messages];
  return messages.filter((message) => message.role !== 'tool' || !lookups.has(message.toolCallId));
}

/** The functions to choose from: only the named one if the request demands it. */
function offeredIn({ tools, callerTools, toolChoice }: ModelRequest): ToolSpec[] {
  const forced = forcedChoiceIn(toolChoice);
  const all = [...tools, ...callerSpecs(callerTools)];
  return forced?.type === 'named' ? all.filter(({ name }) => name === forced.name) : all;
}

function selectionRequest(request: ModelRequest, options: SelectionOptions, emit: Emit<ModelEvent>): SelectionRequest {
  const forced = forcedChoiceIn(request.toolChoice);
  const isSingle = options.isSingleCall || request.parallelToolCalls === false;
  return {
    messages: inlineToolResults(request.messages),
    offered: offeredIn(request),
    task: options.task,
    parameters:
      options.task.backend === options.backend && options.task.model === request.model ? runningParameters(request.parameters) : {},
    template: options.template,
    variables: options.variables,
    maxCalls: isSingle ? 1 : limits.callsPerRound,
    isForced: forced !== undefined,
    schemaOf: (spec) => wholeParameters(toolIn(options.offer, spec.name) ?? { spec }),
    rulesOf: (spec) => {
      const tool = toolIn(options.offer, spec.name);
      return tool === undefined ? strictRules : rulesFor(tool);
    },
    mayRunAs: (written, spec) => mayRunAs(written, toolIn(options.offer, spec.name) ?? { spec }),
    caller: options.caller,
    origin: request.origin,
    signal: request.signal,
    emit,
  };
}

/** Kept for a selection by the chat model itself: a local server may reload a model whose context size or options change between requests. */
const runningKeys = new Set([
  'temperature',
  'seed',
  'user',
  'reasoning_effort',
  'think',
  'chat_template_kwargs',
  'keep_alive',
  'num_ctx',
  forOllamaOnly,
  derivedParameters,
]);

function runningParameters(parameters: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(parameters).filter(([key]) => runningKeys.has(key)));
}

/** The conversation with inlined results, without tools. Refused calls are reported to the model, so that it does not claim to have made them. */
function answerRequest(request: ModelRequest, refused: readonly DroppedCall[], { withFiles, offer }: SelectionOptions): ModelRequest {
  const messages = inlineToolResults(withFiles(withoutLookups(request.messages, helperNames(offer))));
  for (const { name, reason } of refused) appendToLastUser(messages, `\n\nTool \`${name}\` Output: ${JSON.stringify({ error: reason })}`);
  return { ...withoutFunctions(request), messages, purpose: { type: 'answer' } };
}
