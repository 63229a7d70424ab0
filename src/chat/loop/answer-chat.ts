import { setImmediate as nextTurn } from 'node:timers/promises';
import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ConfigChange } from '../../core/chat/chat-config.ts';
import type { ChatEvent, ChatMessage, ChatRequest, MessageContent } from '../../core/chat/chat.ts';
import type { DataOf } from '../../core/runs/run-event.ts';
import { GatewayError, invalidField } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { FoundModel, ModelFinder, ModelRequest } from '../../core/models/model.ts';
import type { Conversation, RunContext } from '../../core/runs/run.ts';
import type { Tool, ToolFinder, ToolOffer } from '../../core/tools/tool.ts';
import type { Emit } from '../../shared/emit.ts';
import { whenThere } from '../../shared/maybe-promise.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { withRemedies } from '../../shared/with-remedies.ts';
import { answerFromResults } from '../modes/native/answer-from-results.ts';
import { applyToolChoice } from '../tool-choice/apply-tool-choice.ts';
import { backendInMode } from '../modes/backend-in-mode.ts';
import type { ToolCallSettings } from '../tool-calls/tool-call-result.ts';
import { chooseMode, parseMode, withoutNativeCalls } from '../modes/choose-mode.ts';
import type { ModeChoice } from '../modes/choose-mode.ts';
import { sourceOfFile } from '../results/cite-sources.ts';
import { inlineToolResults } from '../results/inline-tool-results.ts';
import { fileConsumersIn, untilConsumed, withFilesAtEachTurn } from '../results/consume-files.ts';
import type { Continuations } from '../suspend/continuations.ts';
import type { RunTranscripts } from '../suspend/run-transcripts.ts';
import { expandTemplate, createTemplateBudget, templateValues } from './expand-template.ts';
import { withModelHooks } from '../hooks/hook-model.ts';
import { reportModelRequests } from './report-model-requests.ts';
import { learnNoTools, noToolsWarning, recallNoTools } from '../modes/learn-no-tools.ts';
import { originOf } from './request-origin.ts';
import { runChat } from './run-chat.ts';
import type { ChatRun, Handoff } from './run-chat.ts';
import { contextOf, injectFileContext } from '../results/inject-file-context.ts';
import { takeLoopCheckpoint } from '../suspend/loop-checkpoint.ts';
import type { LoopCheckpoint } from '../suspend/loop-checkpoint.ts';

export interface ChatServices {
  models: ModelFinder;
  tools: ToolFinder;
  continuations: Continuations;
  transcripts: Pick<RunTranscripts, 'restore'>;
  settings: {
    taskModel: string | undefined;
    taskModelExternal: string | undefined;
    selectionTemplate: string;
    contextTemplate: string;
    functionCalling: string;
    maxToolRounds: number;
    toolTimeoutMs: number;
  };
  /** Services that tool calls of all runs share; each is optional. */
  runtime?: Pick<
    ToolCallSettings,
    'totalTimeoutMs' | 'approvals' | 'connecting' | 'elicitations' | 'cache' | 'hooks' | 'onFault' | 'newFaultId'
  >;
  newCallId: () => string;
  now: () => number;
}

/** Applies a change that a function made at this time to the run and its chat, and returns the changed request, with its presets applied. */
type ChangeRequest = (change: ConfigChange, time: number) => Promise<ChatRequest>;

/** With more messages, each step that goes through all of them takes ten milliseconds, and gets a turn of the event loop of its own. */
const manyMessages = 1_000;

/**
 * Answers a run, or the part of it that one preset answers: finds the model and the tools, chooses the mode, and runs the loop. The first event is
 * `run.start`. @throws GatewayError before the first event if the request cannot be answered, and between events if the backend fails
 */
export async function answerChat(
  given: ChatRequest,
  { run: outerRun, services, change }: { run: RunContext; services: ChatServices; change?: ChangeRequest },
  emit: Emit<ChatEvent>,
): Promise<Handoff | undefined> {
  const conversation: Conversation = { model: given.model, messages: given.messages, files: given.files };
  const run: RunContext = { ...outerRun, conversation };
  const isLong = given.messages.length > manyMessages;
  if (isLong) await nextTurn();
  const mode = parseMode(given.mode ?? services.settings.functionCalling);
  const finding = services.models.require(given.model, run.signal, run.caller);
  const model = finding instanceof Promise ? await finding : finding;
  if (given.isProbe === true) return answerProbe(given, run, emit);
  // A preset has tools of its own, such as its sub-agents, which no completion can call.
  const offering = given.completion === undefined ? services.tools.offerFor(given, run) : { tools: new Map<string, Tool>(), warnings: [] };
  const everything = offering instanceof Promise ? await offering : offering;
  const resumed = takeLoopCheckpoint(run);
  const { request, offer } = applyToolChoice(given, everything, resumed !== undefined);
  if (offer.tools.size > 0 && Number(request.parameters['n'] ?? 1) > 1) {
    throw invalidField(
      'n',
      'more than one choice cannot be combined with tools of the gateway. Send n = 1, or "tool_ids": [] to do without them.',
    );
  }

  const known = mode === 'auto' && resumed === undefined ? recallNoTools(model, nativeRequest({ request, model, run, offer })) : undefined;
  const choice = known === undefined ? (resumed?.loop.choice ?? chooseMode(mode, model)) : withoutNativeCalls(chooseMode(mode, model));
  const isPlain = offer.tools.size === 0 && resumed === undefined;
  const sources = resumed?.sources ?? request.files.map(sourceOfFile);
  const slow = emit([
    { type: 'run-event', event: { type: 'run.start', data: startData({ request, offer, run }, choice) } },
    ...[...(request.warnings ?? []), ...offer.warnings, ...(known === undefined || isPlain ? [] : [noToolsWarning(request.model)])].map(
      warningEvent,
    ),
    ...(resumed === undefined ? (offer.lists ?? []) : []).map((list): ChatEvent => ({ type: 'tool-list', list })),
    ...sources.map((source): ChatEvent => ({ type: 'source', source })),
  ]);
  if (slow !== undefined) await slow;

  const variables = templateValues(request.variables);
  const preparing = preparedMessages(request, run, { services, variables, hasTools: !isPlain });
  const prepared = { ...request, messages: preparing instanceof Promise ? await preparing : preparing };
  const context = { template: services.settings.contextTemplate, isOllama: model.record.owner === 'ollama', variables };
  if (isLong) await nextTurn();
  const files = contextOf(request.files);
  const fileContext = files instanceof Promise ? await files : files;
  const addFiles = (messages: readonly ChatMessage[]): ChatMessage[] => injectFileContext(messages, fileContext, context);
  const withFiles = untilConsumed(addFiles, fileConsumersIn(offer));
  const preparation = { request: prepared, run, services, model, offer, variables, withFiles, resumed: resumed?.loop, change };
  if (isPlain) await passThrough(preparation, emit);
  const handoff = isPlain ? undefined : await withFallback(preparation, choice, emit);
  if (handoff !== undefined) return handoff;
  const status = run.suspension?.isSuspended === true ? 'waiting' : 'completed';
  const slowAtEnd = emit([{ type: 'run-event', event: { type: 'run.end', data: { run_id: run.runId, status } } }]);
  if (slowAtEnd !== undefined) await slowAtEnd;
  return undefined;
}

async function answerProbe({ model }: ChatRequest, { runId }: RunContext, emit: Emit<ChatEvent>): Promise<undefined> {
  await emit([
    { type: 'run-event', event: { type: 'run.start', data: { run_id: runId, model, mode: 'none', tools: 0 } } },
    { type: 'finish', reason: 'stop' },
    { type: 'run-event', event: { type: 'run.end', data: { run_id: runId, status: 'completed' } } },
  ]);
}

function startData({ request, offer, run }: Pick<Preparation, 'request' | 'offer' | 'run'>, choice: ModeChoice): DataOf<'run.start'> {
  const { tools } = offer;
  const mode = tools.size === 0 ? 'none' : nameOf(choice);
  return { run_id: run.runId, model: request.model, mode, tools: tools.size, ...(tools.size > 0 && { functions: [...tools.keys()] }) };
}

/** The name of the mode in settings and the log. */
function nameOf({ path }: ModeChoice): 'native' | 'default' | 'react' {
  return path === 'prompt' ? 'default' : path;
}

/** Expands variables in system prompts, and restores what earlier runs of this conversation have done. */
function preparedMessages(
  request: ChatRequest,
  run: RunContext,
  { services, variables, hasTools }: Pick<Preparation, 'services' | 'variables'> & { hasTools: boolean },
): MaybePromise<ChatMessage[]> {
  const { model = request.model } = run;
  const isInline = request.hasExecutedCalls === true && !hasTools && request.callerFunctions.length === 0;
  const withTranscripts = services.transcripts.restore(run.caller, withVariables(request.messages, variables), {
    model,
    hasTools,
    isTask: request.isTask,
  });
  const restoring = whenThere(withTranscripts, (messages) => services.continuations.restore(run.caller, messages));
  return isInline ? whenThere(restoring, inlineToolResults) : restoring;
}

function withVariables(messages: readonly ChatMessage[], variables: ReadonlyMap<string, string>): ChatMessage[] {
  const room = createTemplateBudget();
  const expand = (template: string): string => expandTemplate(template, variables, room);
  return messages.map((message) =>
    message.role === 'system' || message.role === 'developer' ? { ...message, content: expandContent(message.content, expand) } : message,
  );
}

function expandContent(content: MessageContent, expand: (template: string) => string): MessageContent {
  if (typeof content === 'string') return expand(content);
  return content.map((part) => (part.type === 'text' && typeof part.text === 'string' ? { ...part, text: expand(part.text) } : part));
}

const noTools: ReadonlyMap<string, Tool> = new Map();

/** Without tools of the gateway the request goes to the backend unchanged, with all its choices. */
function passThrough({ request, run, model, withFiles, services }: Preparation, emit: Emit<ChatEvent>): Promise<void> {
  const reporting = reportModelRequests(run.modelRequests, { mode: 'none', preset: run.preset?.id });
  const backend = withModelHooks(reporting(model.backend), { hooks: services.runtime?.hooks, run }, 'answer');
  const messages = withFiles(request.messages);
  const origin = originOf(run.caller, noTools);
  return backend.answer({ ...backendRequest(request, model, run), messages, tools: [], origin }, emit);
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
  /** Absent: functions cannot change the run. */
  change: ChangeRequest | undefined;
}

/** In `auto`, a request whose tools a backend refuses is answered with a selection instead. If that succeeds, the refusal is remembered. */
function withFallback(preparation: Preparation, first: ModeChoice, emit: Emit<ChatEvent>): Promise<Handoff | undefined> {
  return withRemedies<ModeAttempt, ChatEvent, Handoff | undefined>(
    { choice: first },
    ({ choice, refusal }, emitNext) => {
      const answering = runInMode(preparation, choice, emitNext);
      return refusal === undefined ? answering : answering.then((handoff) => learnFrom(refusal, preparation, handoff));
    },
    {
      emit,
      async remedy(error): Promise<ModeAttempt | undefined> {
        if (!first.mayFallBack || !(error instanceof GatewayError) || error.code !== 'tools_unsupported') return undefined;
        await emit([warningEvent(noToolsWarning(preparation.request.model))]);
        return { choice: withoutNativeCalls(first), refusal: error };
      },
    },
  );
}

interface ModeAttempt {
  choice: ModeChoice;
  /** Of the attempt before. */
  refusal?: GatewayError;
}

function learnFrom(refusal: GatewayError, preparation: Preparation, handoff: Handoff | undefined): Handoff | undefined {
  learnNoTools(preparation.model, refusal, nativeRequest(preparation));
  return handoff;
}

/** The first request of a run in native mode. */
function nativeRequest({ request, model, run, offer }: Pick<Preparation, 'request' | 'model' | 'run' | 'offer'>): ModelRequest {
  const tools = Array.from(offer.tools.values(), ({ spec }) => spec);
  return { ...backendRequest(request, model, run), messages: request.messages, tools, origin: originOf(run.caller, offer.tools) };
}

async function runInMode(preparation: Preparation, choice: ModeChoice, emit: Emit<ChatEvent>): Promise<Handoff | undefined> {
  const { request, run, services, offer, variables, withFiles, resumed } = preparation;
  const { settings, newCallId, continuations, runtime, now } = services;
  const reporting = reportModelRequests(run.modelRequests, { mode: nameOf(choice), preset: run.preset?.id });
  const model = { ...preparation.model, backend: reporting(preparation.model.backend) };
  const isHandover = request.isHandover === true && resumed === undefined;
  const hooked = { hooks: runtime?.hooks, run };
  const wrapping = { model, reporting, models: services.models, settings, variables, withFiles, isHandover, offer, hooked };
  const wrapped = backendInMode({ ...wrapping, newCallId, caller: run.caller, signal: run.signal }, choice, emit);
  const inMode = wrapped instanceof Promise ? await wrapped : wrapped;
  const onRefusal = (refusal: GatewayError, refused: ModelRequest): void => learnNoTools(preparation.model, refusal, refused);
  const answering = choice.path === 'native' ? answerFromResults({ backend: inMode, plain: model.backend, onRefusal }) : inMode;
  const isSelection = choice.path === 'prompt';
  const isOnce = isSelection || choice.isSingleCall;
  const maxRounds = Math.min(request.maxToolRounds ?? settings.maxToolRounds, limits.maxToolRounds);
  const mayConsume = !isSelection && request.files.length > 0 && fileConsumersIn(offer).size > 0;
  // Selections and answers are hooked apart, within their mode.
  const backend = isSelection
    ? answering
    : withModelHooks(mayConsume ? withFilesAtEachTurn(answering, withFiles) : answering, hooked, 'answer');
  // A selection sees only the conversation; files are added for its answer.
  const toStart = isSelection || mayConsume ? (messages: ChatMessage[]) => messages : withFiles;
  const chat: ChatRun = {
    ...backendRequest(request, model, run),
    backend,
    messages: toStart(request.messages),
    changing: changingOf(preparation, toStart),
    tools: offer.tools,
    finder: offer.finder,
    describer: offer.describer,
    callerNames: new Set(request.callerFunctions.map(({ name }) => name)),
    // One selection, or one call, unless helpers alone were called: then another one follows that has read what they gave.
    maxRounds: isOnce ? 1 : maxRounds,
    maxLookups: isOnce ? maxRounds : undefined,
    maxCalls: request.maxToolCalls,
    // By now the backend has accepted tools; falling back would run calls again that have already run.
    choice: { ...choice, mayFallBack: false },
    handsOverOne: request.handsOverOne,
    contextTokens: model.contextTokens,
    resumed,
    settings: { ...runtime, run, requestTimeoutMs: request.toolTimeoutMs, defaultTimeoutMs: settings.toolTimeoutMs, now },
    keepForCaller: (calls, messages) =>
      request.callIdSeed === undefined
        ? continuations.save(run.caller, calls, messages)
        : continuations.keepDerived(run.caller, request.callIdSeed, { calls, messages }),
  };
  return runChat(chat, emit);
}

/** What the loop needs to go on with other tools and instructions. */
function changingOf(
  { request, run, services, variables, change }: Preparation,
  toStart: (messages: ChatMessage[]) => ChatMessage[],
): ChatRun['changing'] {
  if (change === undefined) return undefined;
  const offerOf = async (asked: ChatRequest, by: RunContext): Promise<ToolOffer> =>
    applyToolChoice(asked, await services.tools.offerFor(asked, by), true).offer;
  let latest = request;
  return {
    renew: () => offerOf(latest, { ...run, suspension: undefined }),
    async check(toolIds) {
      await services.tools.offerFor({ ...request, toolIds: [...toolIds], toolServers: [], mcpServers: [] }, run);
    },
    async change(changes, time) {
      const asked = await change(changes, time);
      latest = asked;
      const [first] = changes.instructions === undefined ? [] : toStart(withVariables(asked.messages, variables));
      return {
        ...(changes.toolIds !== undefined && { offer: await offerOf(asked, run) }),
        ...(changes.instructions !== undefined && { system: first?.role === 'system' || first?.role === 'developer' ? first : null }),
      };
    },
  };
}

/** The parts of a request that go to the backend unchanged. */
function backendRequest(
  { callerFunctions, hostedTools, toolChoice, parallelToolCalls, parameters, stream, completion }: ChatRequest,
  { name }: FoundModel,
  { signal }: RunContext,
) {
  const callerTools = [...callerFunctions.map(({ wire }) => wire), ...hostedTools];
  return { model: name, callerTools, toolChoice, parallelToolCalls, parameters, stream, completion, signal };
}
