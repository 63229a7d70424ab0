import { setImmediate as nextTick } from 'node:timers/promises';
import { warningEvent, type CallerWarning } from '../../core/chat/caller-warning.ts';
import type { ChatEvent, ChatMessage, ChatRequest } from '../../core/chat/chat.ts';
import type { DataOf } from '../../core/chat/run-event.ts';
import { GatewayError, invalidField } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { FoundModel } from '../../core/models/model.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { Tool, ToolOffer } from '../../core/tools/tool.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { whenThere, type MaybePromise } from '../../shared/async/maybe-promise.ts';
import { withRemedies } from '../../shared/refusals/with-remedies.ts';
import { fileConsumersIn, untilConsumed } from '../messages/consume-files.ts';
import { templateValues } from '../messages/expand-template.ts';
import { RunPictures } from '../messages/run-pictures.ts';
import { contextOf, injectFileContext } from '../messages/inject-file-context.ts';
import { demandedForm } from '../modes/demanded-form.ts';
import { chooseMode, modeName, parseMode, withoutNativeCalls, type Mode, type ModeChoice } from '../modes/choose-mode.ts';
import { learnNoTools, noToolsWarning, recallNoTools } from '../modes/learn-no-tools.ts';
import { findTaskModel } from '../modes/prompt/task-model.ts';
import { withReadArguments } from '../parse-tool-calls/read-arguments.ts';
import { takeLoopCheckpoint } from '../suspend/loop-checkpoint.ts';
import { sourceOfFile } from '../tool-calls/cite-sources.ts';
import { applyToolChoice } from '../tool-choice/apply-tool-choice.ts';
import { reportModelRequests } from '../turns/report-model-requests.ts';
import { startEvents, type Announcement } from './announce-start.ts';
import { stageBackend } from './backend-stages.ts';
import { ChangingChat } from './changing-chat.ts';
import type { ChatRun, Handoff } from './chat-run.ts';
import { beginBehind, notRepeatedWarning, withNote } from './continue-failed.ts';
import { prepareMessages } from './prepare-messages.ts';
import { nativeRequest, saverFor, toBackendRequest, type ChangeRequest, type ChatServices, type PreparedChat } from './prepared-chat.ts';
import { originOf } from './request-origin.ts';
import { runChat } from './run-chat.ts';
import { ShownText } from './shown-text.ts';

/** With more messages, each step that goes through all of them takes ten milliseconds, and gets a tick of the event loop of its own. */
const manyMessages = 1_000;

interface AnswerOptions {
  /** With the conversation of the request. */
  run: RunContext;
  services: ChatServices;
  /** What the first event says. Default: the run starts with the model of the request. */
  announcement?: Announcement;
  change?: ChangeRequest;
  /** The text of the run so far. Default: none. */
  shown?: ShownText;
}

/**
 * Answers a run, or the part of it that one preset answers: finds the model and the tools, chooses the mode, and runs the loop. The first event is
 * that of the announcement.
 * @throws GatewayError before the first event if the request cannot be answered, and between events if the backend fails
 */
export async function answerChat(
  given: ChatRequest,
  { run, services, announcement = { type: 'start', model: given.model, events: [] }, change, shown = new ShownText() }: AnswerOptions,
  emit: Emit<ChatEvent>,
): Promise<Handoff | undefined> {
  const isLong = given.messages.length > manyMessages;
  if (isLong) await nextTick();
  const mode = parseMode(given.mode ?? services.settings.functionCalling);
  const finding = services.models.require(given.model, run.signal, run.caller);
  const model = finding instanceof Promise ? await finding : finding;
  if (run.nested === undefined && run.thoughts !== undefined) run.thoughts.model = model.record.id;
  if (given.purpose === 'probe') return answerProbe(run, announcement, emit);
  const offering = offerFor(given, run, services);
  const everything = offering instanceof Promise ? await offering : offering;
  const resumed = takeLoopCheckpoint(run);
  const continued = resumed?.ran === undefined ? undefined : { ...resumed, ran: resumed.ran };
  const { request, offer } = applyToolChoice(given, everything, resumed !== undefined);
  if (offer.tools.size > 0) requireOneChoice(request);

  const { choice, warnings } = chooseFor({ request, model, run, offer }, mode, resumed?.loop.choice);
  const isPlain = offer.tools.size === 0 && resumed === undefined;
  const begun = startEvents(announcement, startData({ offer, run }, choice));
  if (request.warnings !== undefined) addWarnings(begun, request.warnings);
  if (offer.warnings.length > 0) addWarnings(begun, offer.warnings);
  if (!isPlain && warnings.length > 0) addWarnings(begun, warnings);
  if (continued !== undefined) begun.push(notRepeatedWarning(continued));
  if (resumed === undefined) offer.lists?.forEach((list) => begun.push({ type: 'tool-list', list }));
  if (resumed === undefined) request.files.forEach((file) => begun.push({ type: 'source', source: sourceOfFile(file) }));
  else if (continued === undefined) resumed.sources.forEach((source) => begun.push({ type: 'source', source }));
  const slow = emit(begun);
  if (slow !== undefined) await slow;

  const variables = templateValues(request.variables);
  const preparing = prepareMessages(request, run, { services, variables, model, hasTools: !isPlain });
  const prepared = { ...request, messages: preparing instanceof Promise ? await preparing : preparing };
  if (isLong) await nextTick();
  const adding = fileAdder(request, { model, services, variables });
  const withFiles = untilConsumed(adding instanceof Promise ? await adding : adding, fileConsumersIn(offer));
  if (resumed !== undefined && continued === undefined) shown.noteEarlier(resumed.loop.messages.slice(resumed.loop.historyLength));
  const chat: PreparedChat = {
    request: prepared,
    run,
    services,
    model,
    offer,
    variables,
    withFiles,
    resumed: continued === undefined ? resumed?.loop : withNote(continued),
    hasShownText: () => shown.isShown || (resumed !== undefined && resumed.loop.turn.text !== ''),
    change,
  };
  if (isPlain) await passThrough(chat, emit);
  const answering = continued === undefined ? emit : beginBehind(emit, continued, demandedForm(request.parameters) === undefined);
  const handoff = isPlain ? undefined : await answerWithTools(chat, choice, answering);
  if (handoff !== undefined) return handoff;
  const status = run.suspension?.isSuspended === true ? 'waiting' : 'completed';
  const slowAtEnd = emit([{ type: 'run-event', event: { type: 'run.end', data: { run_id: run.runId, status } } }]);
  if (slowAtEnd !== undefined) await slowAtEnd;
  return undefined;
}

function addWarnings(events: ChatEvent[], warnings: readonly CallerWarning[]): void {
  events.push(...warnings.map(warningEvent));
}

/** Adds the files of the request to a copy of the messages. */
function fileAdder(
  { files }: ChatRequest,
  { model, services, variables }: Pick<PreparedChat, 'model' | 'services' | 'variables'>,
): MaybePromise<PreparedChat['withFiles']> {
  if (files.length === 0) return copyOf;
  const options = { template: services.settings.contextTemplate, isOllama: model.record.owner === 'ollama', variables };
  return whenThere(contextOf(files), (context) => (messages: readonly ChatMessage[]) => injectFileContext(messages, context, options));
}

function copyOf(messages: readonly ChatMessage[]): ChatMessage[] {
  return [...messages];
}

async function answerProbe({ runId }: RunContext, announcement: Announcement, emit: Emit<ChatEvent>): Promise<undefined> {
  await emit([
    ...startEvents(announcement, { run_id: runId, mode: 'none', tools: 0 }),
    { type: 'finish', reason: 'stop' },
    { type: 'run-event', event: { type: 'run.end', data: { run_id: runId, status: 'completed' } } },
  ]);
}

/** A preset has tools of its own, such as its sub-agents, which no completion can call. */
function offerFor(request: ChatRequest, run: RunContext, { tools }: ChatServices): MaybePromise<ToolOffer> {
  return request.completion === undefined ? tools.offerFor(request, run) : { tools: new Map<string, Tool>(), warnings: [] };
}

/** @throws GatewayError `invalid_request` */
function requireOneChoice({ parameters }: ChatRequest): void {
  if (Number(parameters['n'] ?? 1) <= 1) return;
  throw invalidField(
    'n',
    'more than one choice cannot be combined with tools of the gateway. Send n = 1, or "tool_ids": [] to do without them.',
  );
}

const noWarnings: ToolOffer['warnings'] = [];

/** The mode of a run. A resumed run keeps its own. Warns if there are tools, and the model is known to refuse native calls. */
function chooseFor(
  chat: Pick<PreparedChat, 'request' | 'model' | 'run' | 'offer'>,
  mode: Mode,
  resumed: ModeChoice | undefined,
): { choice: ModeChoice; warnings: ToolOffer['warnings'] } {
  const { model, request } = chat;
  if (resumed !== undefined) return { choice: resumed, warnings: noWarnings };
  const choice = chooseMode(mode, model);
  const mayKnow = mode === 'auto' && chat.offer.tools.size > 0 && model.lessons.mayRecall({});
  if (!mayKnow || recallNoTools(model, nativeRequest(chat)) === undefined) return { choice, warnings: noWarnings };
  return { choice: withoutNativeCalls(choice), warnings: [noToolsWarning(request.model)] };
}

function startData({ offer: { tools }, run }: Pick<PreparedChat, 'offer' | 'run'>, choice: ModeChoice): Omit<DataOf<'run.start'>, 'model'> {
  if (tools.size === 0) return { run_id: run.runId, mode: 'none', tools: 0 };
  return { run_id: run.runId, mode: modeName(choice), tools: tools.size, functions: [...tools.keys()] };
}

const nothingOffered: Pick<ToolOffer, 'tools'> = { tools: new Map() };

/** Without tools of the gateway the request goes to the backend unchanged, with all its choices. */
function passThrough(chat: PreparedChat, emit: Emit<ChatEvent>): Promise<void> {
  const { request, run, model, withFiles } = chat;
  const report = reportModelRequests(run.modelRequests, { mode: 'none', preset: run.preset?.id });
  const { backend } = stageBackend({
    chat,
    choice: undefined,
    chooser: model,
    mayConsumeFiles: false,
    pictures: new RunPictures(),
    report,
  });
  const messages = withFiles(request.messages).map(withReadCalls);
  const asked = toBackendRequest(request, model, run);
  return backend.answer({ ...asked, messages, tools: [], origin: originOf(run.caller, nothingOffered) }, emit);
}

/** A client may send calls back whose arguments only the gateway can read. */
function withReadCalls(message: ChatMessage): ChatMessage {
  if (message.role !== 'assistant' || message.toolCalls.length === 0) return message;
  return { ...message, toolCalls: message.toolCalls.map(withReadArguments) };
}

/** In `auto`, a request whose tools a backend refuses is answered with a selection instead. If that succeeds, the refusal is remembered. */
function answerWithTools(chat: PreparedChat, first: ModeChoice, emit: Emit<ChatEvent>): Promise<Handoff | undefined> {
  if (!first.mayFallBack) return answerInMode(chat, first, emit);
  return withRemedies<ModeAttempt, ChatEvent, Handoff | undefined>(
    { choice: first },
    ({ choice, refusal }, emitNext) => {
      const answering = answerInMode(chat, choice, emitNext);
      if (refusal === undefined) return answering;
      return answering.then((handoff) => {
        learnNoTools(chat.model, refusal, nativeRequest(chat));
        return handoff;
      });
    },
    {
      emit,
      async remedy(error): Promise<ModeAttempt | undefined> {
        if (!(error instanceof GatewayError) || error.code !== 'tools_unsupported') return undefined;
        await emit([warningEvent(noToolsWarning(chat.request.model))]);
        return { choice: withoutNativeCalls(first), refusal: error };
      },
    },
  );
}

const noNames: ReadonlySet<string> = new Set();

interface ModeAttempt {
  choice: ModeChoice;
  /** How the backend refused the attempt before. */
  refusal?: GatewayError;
}

function answerInMode(chat: PreparedChat, choice: ModeChoice, emit: Emit<ChatEvent>): Promise<Handoff | undefined> {
  const { model, run, services } = chat;
  if (choice.path !== 'prompt') return answerWith(model, { chat, choice, emit });
  return findTaskModel(model, { ...services, signal: run.signal }, emit).then((chooser) => answerWith(chooser, { chat, choice, emit }));
}

/** `chooser`: the model that chooses tools by a prompt. */
function answerWith(
  chooser: FoundModel,
  { chat, choice, emit }: { chat: PreparedChat; choice: ModeChoice; emit: Emit<ChatEvent> },
): Promise<Handoff | undefined> {
  const { request, run, services, model, offer, resumed, withFiles } = chat;
  const { settings, runtime, now } = services;
  const isSelection = choice.path === 'prompt';
  const isOnce = isSelection || choice.isSingleCall;
  const maxRounds = Math.min(request.maxToolRounds ?? settings.maxToolRounds, limits.maxToolRounds);
  const mayConsumeFiles = !isSelection && request.files.length > 0 && fileConsumersIn(offer).size > 0;
  const report = reportModelRequests(run.modelRequests, { mode: modeName(choice), preset: run.preset?.id });
  // A selection sees only the conversation; files are added for its answer.
  const toStart = isSelection || mayConsumeFiles ? (messages: ChatMessage[]) => messages : withFiles;
  const pictures = new RunPictures();
  const { backend, answering } = stageBackend({ chat, choice, chooser, mayConsumeFiles, pictures, report });
  const loop: ChatRun = {
    backend,
    answeringFallback: () => answering().id,
    pictures,
    request: toBackendRequest(request, model, run),
    messages: toStart(request.messages),
    offer,
    changing: chat.change && new ChangingChat(chat, chat.change, toStart),
    callerNames: request.callerFunctions.length === 0 ? noNames : new Set(request.callerFunctions.map(({ name }) => name)),
    // One selection or one call. If it called only helpers, another one follows that has read their results.
    maxRounds: isOnce ? 1 : maxRounds,
    maxLookups: isOnce ? maxRounds : undefined,
    maxCalls: request.maxToolCalls,
    // By now the backend has accepted tools; falling back would run calls again that have already run.
    choice: choice.mayFallBack ? { ...choice, mayFallBack: false } : choice,
    returnsOneCall: request.returnsOneCall,
    contextTokens: model.contextTokens,
    resumed,
    settings: { ...runtime, run, requestTimeoutMs: request.toolTimeoutMs, defaultTimeoutMs: settings.toolTimeoutMs, now },
    saveForClient: saverFor(chat, answering),
  };
  return runChat(loop, emit);
}
