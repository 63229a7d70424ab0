import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ConfigChange } from '../../core/chat/chat-config.ts';
import type { ChatEvent, ChatMessage, FinishReason, ToolCall } from '../../core/chat/chat.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { ModelBackend, ModelRequest, RequestOrigin } from '../../core/models/model.ts';
import type { Tool, ToolOffer } from '../../core/tools/tool.ts';
import type { Emit } from '../../shared/emit.ts';
import { originOf } from './request-origin.ts';
import { requestLastAnswer, requestModel } from './request-model.ts';
import type { Turn } from './request-model.ts';
import { offerCalledTools, offerDescriber, offerFoundTools } from './deferred-tools.ts';
import { changeData, changesOf, configUpdate } from './run-config.ts';
import { createDuplicateCallGuard } from '../tool-calls/duplicate-call-guard.ts';
import type { ToolCallResult, ToolCallScope, ToolCallSettings } from '../tool-calls/tool-call-result.ts';
import type { ModeChoice } from '../modes/choose-mode.ts';
import { demandedForm } from '../modes/demanded-form.ts';
import { forcedChoiceIn, requestCall } from '../tool-choice/force-tool-choice.ts';
import type { ForcedChoice } from '../tool-choice/force-tool-choice.ts';
import { resultShareBytes, shareAmong } from '../results/truncate-result.ts';
import { repairHistory } from './repair-history.ts';
import { forAnotherModel, messagesOfRound } from './round-messages.ts';
import { createResultStore } from '../results/stored-results.ts';
import { suspendRun } from '../suspend/suspend-run.ts';
import { createReadResultTool, readerNameBeside } from '../results/read-result-tool.ts';
import { createRoundBudget } from './round-budget.ts';
import type { ReachedLimit, RoundBudget } from './round-budget.ts';
import { limitReached, runRound, usageEvents } from '../tool-calls/run-round.ts';
import { createTurnSeparator } from './separate-turns.ts';
import type { TurnSeparator } from './separate-turns.ts';
import { isCut, partitionToolCalls } from '../tool-calls/partition-tool-calls.ts';
import { withCalls } from '../suspend/continuations.ts';
import { betweenRounds, isAmidRound, resumedRound, turnOf } from '../suspend/loop-checkpoint.ts';
import type { LoopCheckpoint, LoopState } from '../suspend/loop-checkpoint.ts';

export interface ChatRun {
  backend: ModelBackend;
  /** The backend's name of the model. */
  model: string;
  messages: ChatMessage[];
  tools: ReadonlyMap<string, Tool>;
  /** The deferred tools, and the tool that finds them. */
  finder?: ToolOffer['finder'];
  /** The tool that describes functions that are cut. */
  describer?: ToolOffer['describer'];
  /** How functions change the tools and instructions; absent: they cannot. */
  changing?: ChangeableChat | undefined;
  /** The caller's own entries of `tools`, and the names of those that are functions. */
  callerTools: JsonObject[];
  callerNames: ReadonlySet<string>;
  toolChoice: JsonValue | undefined;
  parallelToolCalls: boolean | undefined;
  parameters: JsonObject;
  stream: boolean;
  /** The most rounds of tool calls; then the model is requested once more without tools. */
  maxRounds: number;
  /** The most rounds of helpers alone, where they do not count as rounds. */
  maxLookups?: number | undefined;
  /** The most calls of the gateway's functions. */
  maxCalls?: number | undefined;
  /** How calls are chosen: a selection only once, a single call only in the first round. */
  choice: ModeChoice;
  /** The wire format of the answer supports only one call of the caller's functions. */
  handsOverOne?: boolean | undefined;
  /** The context size of the model in tokens, if known. */
  contextTokens?: number | undefined;
  settings: ToolCallSettings;
  /** The checkpoint of a resumed run, used instead of `messages`. */
  resumed?: LoopCheckpoint | undefined;
  /**
   * Stores the gateway's calls of a turn that also calls the caller's functions, until the caller returns their results. Returns the calls as they
   * are to be handed over.
   */
  keepForCaller(callerCalls: readonly ToolCall[], messages: readonly ChatMessage[]): Promise<ToolCall[]>;
}

/** What the loop goes on with after a function has changed its chat. */
interface ChangeableChat {
  /** @throws GatewayError `unknown_tool_id`, `forbidden` for entries that the caller may not use */
  check(toolIds: readonly string[]): Promise<void>;
  /** The tools as they are now, without those for calls of before a suspension (`Tool.isFormer`). */
  renew(): Promise<ToolOffer>;
  /** Applies a change made at this time (milliseconds since 1970). `offer` and `system`: the tools and the system message from now on, where they have changed; null: no system message. */
  change(change: ConfigChange, time: number): Promise<{ offer?: ToolOffer; system?: ChatMessage | null }>;
}

/** The next step of the loop. All but the first three end it. */
type NextStep =
  | { type: 'run_again' }
  | RunTools
  /** Request the model without tools: a limit is reached, or it gave no answer. */
  | { type: 'last_answer'; limit?: ReachedLimit }
  | { type: 'answer'; finishReason: FinishReason }
  /** The caller has to run its own functions. */
  | { type: 'hand_over'; calls: ToolCall[] }
  /** Another preset takes over. */
  | { type: 'hand_off'; preset: string }
  /** A function has ended the run. */
  | { type: 'stop' }
  /** The run continues in another request. */
  | { type: 'suspended' };

interface RunTools {
  type: 'run_tools';
  turn: Turn;
  /** The calls of the turn that may run, including those of the caller's functions. */
  calls: ToolCall[];
  /** Set if the round was suspended between these calls. */
  resumed?: LoopCheckpoint;
}

/** The conversation continues under another preset; `messages` are those that this run has added. */
export interface Handoff {
  preset: string;
  messages: ChatMessage[];
  /** The names of the functions offered until then. */
  functions: string[];
  /** Keeps what the next preset says apart from what was said until then. */
  separator: Pick<TurnSeparator, 'separate'>;
}

/**
 * Requests the model, runs the tools that it calls, and requests it again with the results, until it answers without calls. When a limit is reached,
 * it is requested without tools, so that there always is an answer.
 */
export async function runChat(chat: ChatRun, sink: Emit<ChatEvent>): Promise<Handoff | undefined> {
  const emit: Emit<ChatEvent> = (events) => (events.length === 0 ? undefined : sink(events));
  const loop = beginLoop(chat, emit);
  const { conversation } = chat.settings.run;
  if (conversation !== undefined) conversation.offeredToolIds = () => toolIdsOf(loop);
  for (let step = firstStep(chat); ;) {
    switch (step.type) {
      case 'run_again':
        step = await requestNextTurn(loop);
        break;
      case 'run_tools':
        step = await runTools(step, loop);
        break;
      case 'last_answer':
        step = await requestAnswer(step, loop);
        break;
      case 'answer': {
        // Some servers report `tool_calls` even if no calls are handed over; clients would wait for them.
        const slow = emit([{ type: 'finish', reason: step.finishReason === 'tool_calls' ? 'stop' : step.finishReason }]);
        if (slow !== undefined) await slow;
        return undefined;
      }
      case 'hand_over': {
        const calls = await chat.keepForCaller(step.calls, addedMessages(loop));
        noteHandedOver(loop, step.calls, calls);
        await emit([...calls.map((call): ChatEvent => ({ type: 'tool-call', call })), { type: 'finish', reason: 'tool_calls' }]);
        return undefined;
      }
      case 'hand_off':
        return {
          preset: step.preset,
          messages: forAnotherModel(addedMessages(loop)),
          functions: [...loop.tools.keys()],
          separator: loop.separator,
        };
      case 'stop':
        await emit([{ type: 'finish', reason: 'stop' }]);
        return undefined;
      case 'suspended':
        return undefined;
    }
  }
}

function firstStep({ resumed }: ChatRun): NextStep {
  if (!isAmidRound(resumed)) return { type: 'run_again' };
  return { type: 'run_tools', turn: turnOf(resumed), calls: resumed.turn.calls, resumed };
}

async function requestNextTurn(loop: Loop): Promise<NextStep> {
  const { chat, emit, tools, budget, finder } = loop;
  const limit = budget.reached();
  if (limit !== undefined) return { type: 'last_answer', limit };
  keepCheckpoint(loop);
  const turn = await requestTurn(loop);
  if (turn.toolCalls.length > 0) await emit(offerCalledTools({ finder, tools, time: chat.settings.now() }, turn.toolCalls));
  offerDescriber(loop.describer, tools);
  const rules = { ...chat, isSingleCall: chat.choice.isSingleCall, tools, forced: forcedNow(loop) };
  const { calls, refused } = partitionToolCalls(turn, rules);
  if (refused.length > 0) await emit(refused);
  if (calls.length > 0) return { type: 'run_tools', turn, calls };
  // An answer is still due after dropped calls, or after tools have run. If the token limit ended this one, another request would end the same way.
  const owesAnswer = turn.toolCalls.length > 0 || budget.used().rounds > 0;
  if (owesAnswer && turn.isSilent && !isCut(turn)) return { type: 'last_answer' };
  noteAnswer(loop, turn.text);
  return { type: 'answer', finishReason: turn.finishReason };
}

async function runTools({ turn, calls, resumed }: RunTools, loop: Loop): Promise<NextStep> {
  const { chat, emit, tools, budget, separator } = loop;
  const { settings, changing } = chat;
  const { suspension, signal } = settings.run;
  const callerCalls = calls.filter((call) => chat.callerNames.has(call.name));
  const gatewayCalls = calls.filter((call) => !chat.callerNames.has(call.name));
  // The client is gone: approved calls have not started yet, and can be resumed later.
  if (suspension?.resumed !== undefined) signal.throwIfAborted();
  suspension?.resumed?.setCheckpoint(undefined);
  const round = {
    tools,
    settings,
    scope: {
      ...loop.scope,
      resultBytes: shareAmong(loop.shareBytes, gatewayCalls.length),
      ...(changing && { config: { check: (toolIds: readonly string[]) => changing.check(toolIds), toolIds: () => toolIdsOf(loop) } }),
    },
    // Words would spoil an answer in a demanded format.
    toParagraph: demandedForm(chat.parameters) === undefined ? (text: string) => separator.paragraph(text) : undefined,
    callsLeft: budget.callsLeft(),
    callsPerRun: budget.callsPerRun,
    finderName: loop.finder?.tool.spec.name,
    ...resumedRound(resumed, gatewayCalls, settings.run),
  };
  const results = await runRound(gatewayCalls, round, emit);
  if (signal.aborted) noteCutRound(loop, messagesOfRound(turn, calls, results));
  signal.throwIfAborted();
  if (results.some(({ suspended }) => suspended !== undefined)) {
    const isSuspended = await suspendRun({ suspension, turn, calls, results, loop: loopState(loop), separator }, emit);
    if (isSuspended) return { type: 'suspended' };
  }
  addMessages(loop, messagesOfRound(turn, calls, results));
  const lookups = new Set(results.filter(({ tool }) => tools.get(tool?.name ?? '')?.isHelper === true));
  budget.spend(results, results.length > 0 && lookups.size === results.length);
  await emit(usageEvents(results));
  const preset = callerCalls.length > 0 ? undefined : handoffIn(results);
  // Another preset begins with its own tools and instructions.
  if (preset === undefined) await changeConfig(loop, results);
  if (preset === undefined && results.some(({ outcome }) => outcome.type === 'result' && outcome.renewsOffer === true))
    await renewOffer(loop);
  if (callerCalls.length > 0) return { type: 'hand_over', calls: callerCalls };
  if (preset !== undefined) return { type: 'hand_off', preset };
  if (endsRun(results)) return { type: 'stop' };
  if (results.some((result) => result.isReady && fulfilsChoice(result, lookups.has(result), loop))) loop.isChoiceOpen = false;
  offerReader(loop);
  await emit(offerFoundTools({ finder: loop.finder, tools, time: settings.now() }, results));
  offerDescriber(loop.describer, tools);
  return tools.size + chat.callerTools.length > 0 ? { type: 'run_again' } : { type: 'last_answer' };
}

/** Goes on with the tools and instructions that functions of this round have set; the last one counts. */
async function changeConfig(loop: Loop, results: readonly ToolCallResult[]): Promise<void> {
  const { chat, emit, messages, tools } = loop;
  const changes: ConfigChange = Object.assign({}, ...results.map((result) => result.changes));
  if (chat.changing === undefined || Object.keys(changes).length === 0) return;
  const before = [...tools.keys()];
  const time = chat.settings.now();
  const { offer, system } = await chat.changing.change(changes, time);
  if (offer !== undefined) offerAnew(loop, offer);
  if (system !== undefined) {
    const replaced = messages[0]?.role === 'system' || messages[0]?.role === 'developer' ? 1 : 0;
    const now = system === null ? [] : [system];
    messages.splice(0, replaced, ...now);
    loop.historyLength += now.length - replaced;
  }
  await emit(offerEvents(loop, { before, changed: changeData(changes, time), warnings: offer?.warnings ?? [] }));
}

/** Goes on with tools that are there only now; those that a search has found stay. */
async function renewOffer(loop: Loop): Promise<void> {
  const { chat, emit, tools } = loop;
  const offer = await chat.changing?.renew();
  if (offer === undefined) return;
  const before = [...tools.keys()];
  offerAnew(loop, offer);
  for (const name of before) {
    const found = offer.finder?.deferred.get(name);
    if (found !== undefined) tools.set(name, found);
  }
  await emit(offerEvents(loop, { before, changed: changeData({}, chat.settings.now()), warnings: offer.warnings }));
}

function offerEvents(
  { tools }: Loop,
  { before, changed, warnings }: { before: readonly string[]; changed: JsonObject; warnings: ToolOffer['warnings'] },
): ChatEvent[] {
  const now = [...tools.keys()];
  return [configUpdate({ ...changed, tools: now.length, functions: now, ...changesOf(before, now) }), ...warnings.map(warningEvent)];
}

function offerAnew(loop: Loop, offer: ToolOffer): void {
  const { chat, scope, tools } = loop;
  loop.finder = offer.finder;
  loop.describer = offer.describer;
  tools.clear();
  for (const [name, tool] of offer.tools) tools.set(name, tool);
  if (readsOn(chat)) scope.readerName = readerNameBeside(new Set([...tools.keys(), ...chat.callerNames]));
  if (offer.finder !== undefined) tools.set(offer.finder.tool.spec.name, offer.finder.tool);
  offerDescriber(offer.describer, tools);
}

/** What the model may call now or after a search, as in `tool_ids`. Tools of the request's own servers have no entry there. */
function toolIdsOf({ tools, finder }: Loop): string[] {
  const all = new Set([...tools.values(), ...(finder?.deferred.values() ?? [])]);
  const entry = /^(?:function:|preset:|toolset:|server:[^/]+\/)/;
  return Array.from(all).flatMap(({ otherNames }) => otherNames?.find((name) => entry.test(name)) ?? []);
}

const noAnswer = 'The model gave no answer after its last tool calls.';

async function requestAnswer({ limit }: Extract<NextStep, { type: 'last_answer' }>, loop: Loop): Promise<NextStep> {
  const { chat, emit, separator } = loop;
  // A selection has only one round anyway, which is not worth reporting as a limit.
  if (limit !== undefined && (limit.limit !== 'tool_rounds' || readsOn(chat))) await emit([limitReached(limit.limit, limit.value)]);
  keepCheckpoint(loop);
  const last = await requestLastAnswer(chat.backend, requestFor(loop), separator.separate(emit));
  const isMissing = last.isSilent && !isCut(last);
  if (isMissing) await emit([{ type: 'text', text: noAnswer }]);
  noteAnswer(loop, isMissing ? noAnswer : last.text);
  return { type: 'answer', finishReason: last.finishReason };
}

function addMessages({ messages, chat }: Loop, added: readonly ChatMessage[]): void {
  messages.push(...added);
  chat.settings.run.transcript?.push(...added);
}

/** Whoever interrupts a chat goes on from what is known of its calls. Calls of the caller's functions were not handed over. */
function noteCutRound({ chat }: Loop, [assistant, ...results]: readonly ChatMessage[]): void {
  if (assistant?.role !== 'assistant' || results.length === 0) return;
  const hasResult = new Set(results.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])));
  const toolCalls = assistant.toolCalls.filter(({ id }) => hasResult.has(id));
  chat.settings.run.transcript?.push({ ...assistant, toolCalls }, ...results);
}

/** Calls may be handed over under new ids. */
function noteHandedOver({ chat }: Loop, old: readonly ToolCall[], calls: readonly ToolCall[]): void {
  const { transcript } = chat.settings.run;
  transcript?.splice(0, transcript.length, ...withCalls(transcript, old, calls));
}

function noteAnswer({ chat }: Loop, text: string): void {
  if (text !== '') chat.settings.run.transcript?.push({ role: 'assistant', content: text, toolCalls: [] });
}

interface Loop {
  chat: ChatRun;
  emit: Emit<ChatEvent>;
  messages: ChatMessage[];
  /** The number of messages before this run, after repair. */
  historyLength: number;
  tools: Map<string, Tool>;
  finder: ToolOffer['finder'];
  describer: ToolOffer['describer'];
  scope: ToolCallScope;
  /** The most bytes of one result that the model gets. */
  shareBytes: number;
  budget: RoundBudget;
  origin: RequestOrigin;
  separator: TurnSeparator;
  /** Whether the forced `tool_choice` has not been fulfilled yet. */
  isChoiceOpen: boolean;
}

function beginLoop(chat: ChatRun, emit: Emit<ChatEvent>): Loop {
  const { resumed, finder } = chat;
  const messages = resumed?.messages ?? repairHistory(chat.messages);
  const scope: ToolCallScope = { guard: createDuplicateCallGuard(resumed?.guardedCalls) };
  const tools = new Map(chat.tools);
  for (const [name, { isFormer }] of tools) if (isFormer === true && resumed?.tools.includes(name) !== true) tools.delete(name);
  if (readsOn(chat)) {
    scope.results = createResultStore(resumed?.results);
    scope.readerName = readerNameBeside(new Set([...chat.tools.keys(), ...chat.callerNames]));
  }
  if (finder !== undefined) tools.set(finder.tool.spec.name, finder.tool);
  const forced = forcedChoiceIn(chat.toolChoice);
  // A function that `tool_choice` demands is offered even if it was deferred.
  const further = [...(resumed?.tools ?? []), ...(forced?.type === 'named' ? [forced.name] : [])];
  for (const tool of further.flatMap((name) => finder?.deferred.get(name) ?? [])) tools.set(tool.spec.name, tool);
  offerDescriber(chat.describer, tools);
  return {
    chat,
    emit,
    messages,
    historyLength: resumed?.historyLength ?? messages.length,
    tools,
    finder,
    describer: chat.describer,
    scope,
    shareBytes: resultShareBytes(chat.contextTokens),
    budget: createRoundBudget({ ...chat, now: chat.settings.now }, resumed?.budget),
    origin: originOf(chat.settings.run.caller, tools),
    separator: createTurnSeparator(),
    isChoiceOpen: resumed?.isChoiceOpen ?? true,
  };
}

/** What a helper gives is read for another call, so it fulfils a forced choice only if it was named. */
function fulfilsChoice({ tool }: ToolCallResult, isLookup: boolean, { chat }: Loop): boolean {
  const forced = forcedChoiceIn(chat.toolChoice);
  return !isLookup || (forced?.type === 'named' && forced.name === tool?.name);
}

/** Only a model that may call again can read the rest of a truncated result. */
function readsOn({ choice }: ChatRun): boolean {
  return choice.path !== 'prompt' && !choice.isSingleCall;
}

function addedMessages({ messages, historyLength }: Loop): ChatMessage[] {
  return messages.slice(historyLength);
}

/** If a resumed run fails, it continues from here, with the next model request. */
function keepCheckpoint(loop: Loop): void {
  loop.chat.settings.run.suspension?.resumed?.setCheckpoint(() => betweenRounds(loopState(loop)));
}

function loopState({ chat, messages, historyLength, tools, scope, budget, isChoiceOpen }: Loop): LoopState {
  return {
    choice: chat.choice,
    messages,
    historyLength,
    tools: [...tools.keys()],
    guardedCalls: scope.guard?.entries() ?? [],
    budget: budget.used(),
    results: scope.results?.entries() ?? [],
    isChoiceOpen,
  };
}

/** A forced choice applies once: if it were forced again after its call, the model could never answer. A selection applies it by itself. */
function forcedNow({ chat: { choice, toolChoice }, isChoiceOpen }: Loop): ForcedChoice | undefined {
  return isChoiceOpen && choice.path !== 'prompt' ? forcedChoiceIn(toolChoice) : undefined;
}

function requestTurn(loop: Loop): Promise<Turn> {
  const { chat, isChoiceOpen } = loop;
  const toolChoice = isChoiceOpen || chat.toolChoice === 'none' ? chat.toolChoice : undefined;
  const request = { ...requestFor(loop), toolChoice };
  const choice = forcedNow(loop);
  const emit = loop.separator.separate(loop.emit);
  return choice === undefined ? requestModel(chat.backend, request, emit) : requestCall(chat.backend, request, { choice, emit });
}

function requestFor({ chat, messages, tools, budget, origin }: Loop): ModelRequest {
  const { model, callerTools, parallelToolCalls, parameters, stream, settings, maxRounds } = chat;
  return {
    model,
    messages,
    tools: Array.from(tools.values(), ({ spec }) => spec),
    offered: tools,
    callerTools,
    toolChoice: undefined,
    parallelToolCalls,
    parameters,
    stream,
    signal: settings.run.signal,
    origin,
    purpose: { type: 'round', round: budget.used().rounds + 1, maxRounds },
  };
}

function handoffIn(results: readonly ToolCallResult[]): string | undefined {
  return results.flatMap(({ followUp }) => (followUp?.type === 'handoff' ? [followUp.preset] : []))[0];
}

/** A function may end the run; functions without a reply end it if no other call needs one. */
function endsRun(results: readonly ToolCallResult[]): boolean {
  return results.some(({ followUp }) => followUp?.type === 'stop') || results.every(({ followUp }) => followUp?.type === 'no-reply');
}

/** Offers `read_result` once a result has been truncated. */
function offerReader({ scope: { results, readerName }, tools, shareBytes }: Loop): void {
  if (results === undefined || results.isEmpty || readerName === undefined || tools.has(readerName)) return;
  tools.set(readerName, createReadResultTool(readerName, results, shareBytes));
}
