import type { ChatEvent, ChatMessage, ChatRequest, MessageContent } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { FoundModel, ModelFinder, ModelRequest } from '../../core/model.ts';
import type { RunContext } from '../../core/run.ts';
import type { ToolFinder, ToolOffer } from '../../core/tool.ts';
import { pullFrom } from '../../shared/emit.ts';
import type { Emit } from '../../shared/emit.ts';
import { answerFromResults } from '../modes/native/answer-from-results.ts';
import { applyToolChoice } from '../tool-choice/apply-tool-choice.ts';
import { backendInMode } from '../modes/backend-in-mode.ts';
import type { ToolCallSettings } from '../tool-calls/tool-call-result.ts';
import { chooseMode, parseMode } from '../modes/choose-mode.ts';
import type { ModeChoice } from '../modes/choose-mode.ts';
import { sourceOfFile } from '../results/cite-sources.ts';
import { fileConsumersIn, untilConsumed, withFilesAtEachTurn } from '../results/consume-files.ts';
import type { Continuations } from '../suspend/continue-run.ts';
import { expandTemplate, templateRoom, templateValues } from './expand-template.ts';
import { withModelHooks } from '../hooks/hook-model.ts';
import { describeModelRequest, recordModelRequests } from './record-model-requests.ts';
import type { Asker } from './record-model-requests.ts';
import { isLessonOnModel } from '../modes/learn-no-tools.ts';
import { runChat } from './run-chat.ts';
import type { RunHooks } from '../hooks/run-hooks.ts';
import type { Handoff } from './run-chat.ts';
import { injectFileContext } from '../results/inject-file-context.ts';
import { Rest } from './stream-delegation.ts';
import { takeLoopCheckpoint } from '../suspend/loop-checkpoint.ts';
import type { LoopCheckpoint } from '../suspend/loop-checkpoint.ts';

export interface ChatServices {
  models: ModelFinder;
  tools: ToolFinder;
  continuations: Continuations;
  settings: {
    taskModel: string | undefined;
    taskModelExternal: string | undefined;
    selectionTemplate: string;
    contextTemplate: string;
    functionCalling: string;
    maxToolRounds: number;
    toolTimeoutMs: number;
  };
  /** What calls of tools have over all runs; each part may be left out. */
  runtime?: Pick<ToolCallSettings, 'totalTimeoutMs' | 'approvals' | 'questions' | 'cache' | 'hooks' | 'onFault' | 'newFaultId'>;
  newCallId: () => string;
  now: () => number;
}

/**
 * One run, or the part of one that a single preset answers, from a request to its events: finds the model and the tools, chooses the mode, and runs the loop.
 * @throws GatewayError before the first event for a request that cannot be answered, amid the events for a fault of the backend.
 */
export async function* answerChat(
  asked: ChatRequest,
  given: RunContext,
  services: ChatServices,
): AsyncGenerator<ChatEvent, Handoff | Rest | undefined> {
  const run: RunContext = { ...given, conversation: asked };
  const mode = parseMode(asked.mode ?? services.settings.functionCalling);
  const model = await services.models.require(asked.model, run.signal);
  const everything = await services.tools.offerFor(asked, run);
  const resumed = takeLoopCheckpoint(run);
  const { request, offer } = applyToolChoice(asked, everything, resumed !== undefined);
  const choice = resumed?.loop.choice ?? chooseMode(mode, model);
  if (offer.tools.size > 0 && Number(request.parameters['n'] ?? 1) > 1) {
    throw new GatewayError(
      'invalid_request',
      'n: more than one choice cannot be combined with tools of the gateway. Send n = 1, or "tool_ids": [] to do without them.',
      { param: 'n' },
    );
  }

  const effectiveMode = offer.tools.size === 0 ? 'none' : choice.path === 'prompt' ? 'default' : choice.path;
  const data = {
    run_id: run.runId,
    model: request.model,
    mode: effectiveMode,
    tools: offer.tools.size,
    ...(offer.tools.size > 0 && { functions: [...offer.tools.keys()] }),
  };
  yield { type: 'run-event', event: { type: 'run.start', data } };
  for (const warning of offer.warnings) yield { type: 'run-event', event: { type: 'warning', data: { ...warning } } };
  for (const source of resumed?.sources ?? request.files.map(sourceOfFile)) yield { type: 'source', source };

  const variables = templateValues(request.variables);
  const prepared = { ...request, messages: await preparedMessages(request, run, { services, variables }) };
  const context = { template: services.settings.contextTemplate, isOllama: model.record.owner === 'ollama', variables };
  const addFiles = (messages: readonly ChatMessage[]): ChatMessage[] => injectFileContext(messages, request.files, context);
  const withFiles = untilConsumed(addFiles, fileConsumersIn(offer));
  let handoff: Handoff | undefined;
  if (offer.tools.size === 0 && resumed === undefined) {
    const plain = { ...prepared, messages: withFiles(prepared.messages) };
    const last = { type: 'run.end', data: { run_id: run.runId, status: 'completed' } } as const;
    return new Rest(passThrough(plain, run, { model, hooks: services.runtime?.hooks }), { type: 'run-event', event: last });
  }
  handoff = yield* withFallback({ request: prepared, run, services, model, offer, variables, withFiles, resumed: resumed?.loop }, choice);
  const status = run.wait?.isSuspended === true ? 'waiting' : 'completed';
  if (handoff === undefined) yield { type: 'run-event', event: { type: 'run.end', data: { run_id: run.runId, status } } };
  return handoff;
}

/** System prompts with their variables, and what earlier runs of this conversation had executed put back. */
async function preparedMessages(
  request: ChatRequest,
  run: RunContext,
  { services, variables }: Pick<Preparation, 'services' | 'variables'>,
): Promise<ChatMessage[]> {
  const room = templateRoom();
  const expand = (template: string): string => expandTemplate(template, variables, room);
  const expanded = request.messages.map((message) =>
    message.role === 'system' || message.role === 'developer' ? { ...message, content: expandContent(message.content, expand) } : message,
  );
  return services.continuations.restore(run.caller, expanded);
}

function expandContent(content: MessageContent, expand: (template: string) => string): MessageContent {
  if (typeof content === 'string') return expand(content);
  return content.map((part) => (part.type === 'text' && typeof part.text === 'string' ? { ...part, text: expand(part.text) } : part));
}

/** Without tools of the gateway a request goes through as it is, with all its choices. */
function passThrough(
  request: ChatRequest,
  run: RunContext,
  { model, hooks }: { model: FoundModel; hooks: RunHooks | undefined },
): AsyncGenerator<ChatEvent> {
  const question: ModelRequest = {
    model: model.name,
    messages: request.messages,
    tools: [],
    callerTools: [...request.callerFunctions.map((entry) => entry.wire), ...request.hostedTools],
    toolChoice: request.toolChoice,
    parallelToolCalls: request.parallelToolCalls,
    parameters: request.parameters,
    stream: request.stream,
    signal: run.signal,
  };
  const asker: Asker = { mode: 'none', preset: run.preset?.id };
  // What comes through here unchanged is told by itself: another layer would cost every event of every plain chat.
  if (run.presetPath === undefined && withModelHooks(model.backend, hooks, run) === model.backend) {
    run.questions?.askLast(describeModelRequest(question, asker));
    return pullFrom<ChatEvent, void>((emit) => model.backend.answer(question, emit));
  }
  const backend = withModelHooks(recordModelRequests(run.questions, asker)(model.backend), hooks, run);
  return pullFrom<ChatEvent, void>((emit) => backend.answer(question, emit));
}

interface Preparation {
  request: ChatRequest;
  run: RunContext;
  services: ChatServices;
  model: FoundModel;
  offer: ToolOffer;
  variables: ReadonlyMap<string, string>;
  withFiles: (messages: readonly ChatMessage[]) => ChatMessage[];
  resumed: LoopCheckpoint | undefined;
}

/** In `auto`, a backend's refusal of tools is remembered, and the same request is answered by the selection pass. */
async function* withFallback(preparation: Preparation, choice: ModeChoice): AsyncGenerator<ChatEvent, Handoff | undefined> {
  try {
    return yield* runInMode(preparation, choice);
  } catch (error) {
    const isRefusal = error instanceof GatewayError && error.code === 'tools_unsupported';
    if (!isRefusal || !choice.mayFallBack) throw error;
    learnNoTools(error, preparation);
    const message = `The backend has no native tool calls for ${preparation.request.model}; tools are chosen by a selection prompt.`;
    yield { type: 'run-event', event: { type: 'warning', data: { code: 'tools_unsupported', message } } };
    return yield* runInMode(preparation, { ...choice, path: 'prompt', mayFallBack: false });
  }
}

function learnNoTools(refusal: GatewayError, { request, offer, services, model }: Preparation): void {
  if (isLessonOnModel(refusal, request, offer)) services.models.rememberNoTools(model.record.id);
}

async function* runInMode(preparation: Preparation, choice: ModeChoice): AsyncGenerator<ChatEvent, Handoff | undefined> {
  const { request, run, services, offer } = preparation;
  const { variables, withFiles } = preparation;
  const recorded = recordModelRequests(run.questions, { mode: choice.path === 'prompt' ? 'default' : choice.path, preset: run.preset?.id });
  const model = { ...preparation.model, backend: recorded(preparation.model.backend) };
  const isHandover = request.isHandover === true && preparation.resumed === undefined;
  const wrapping = { model, recorded, models: services.models, settings: services.settings, variables, withFiles, isHandover };
  const inMode = yield* pullFrom((emit: Emit<ChatEvent>) =>
    backendInMode({ ...wrapping, newCallId: services.newCallId, caller: run.caller, signal: run.signal }, choice, emit),
  );
  const onRefusal = (refusal: GatewayError): void => learnNoTools(refusal, preparation);
  const asked = choice.path === 'native' ? answerFromResults({ backend: inMode, plain: model.backend, onRefusal }) : inMode;
  const mayConsume = choice.path !== 'prompt' && request.files.length > 0 && fileConsumersIn(offer).size > 0;
  const joinsFilesLater = choice.path === 'prompt' || mayConsume;
  const backend = withModelHooks(mayConsume ? withFilesAtEachTurn(asked, preparation.withFiles) : asked, services.runtime?.hooks, run);
  // The selection pass is one round by definition; its answer follows without another question.
  const maxRounds =
    choice.isSingleCall || choice.path === 'prompt'
      ? 1
      : Math.min(request.maxToolRounds ?? services.settings.maxToolRounds, limits.maxToolRounds);
  return yield* runChat({
    backend,
    model: model.name,
    // A selection is made for the question alone; files join its answer.
    messages: joinsFilesLater ? request.messages : preparation.withFiles(request.messages),
    tools: offer.tools,
    ...(offer.finder !== undefined && { finder: offer.finder }),
    callerTools: [...request.callerFunctions.map((entry) => entry.wire), ...request.hostedTools],
    callerNames: new Set(request.callerFunctions.map((entry) => entry.name)),
    toolChoice: request.toolChoice,
    parallelToolCalls: request.parallelToolCalls,
    parameters: request.parameters,
    stream: request.stream,
    maxRounds,
    // Steps of thought and action go in rounds, as native calls do.
    path: choice.path === 'prompt' ? 'prompt' : 'native',
    isSingleCall: choice.isSingleCall,
    handsOverOne: request.reply?.isLegacy,
    // Where the backend refuses tools is known by now: what has run must not run again.
    choice: { ...choice, mayFallBack: false },
    ...(preparation.resumed !== undefined && { resumed: preparation.resumed }),
    ...(model.contextTokens !== undefined && { contextTokens: model.contextTokens }),
    settings: {
      ...services.runtime,
      run,
      requestTimeoutMs: request.toolTimeoutMs,
      defaultTimeoutMs: services.settings.toolTimeoutMs,
      now: services.now,
    },
    keepForCaller: (calls, messages) => services.continuations.keep(run.caller, calls, messages),
  });
}
