import type { ConfigChange } from '../../core/chat/chat-config.ts';
import type { ChatEvent, ToolCall } from '../../core/chat/chat.ts';
import type { ModelRequest, RequestOrigin } from '../../core/models/model.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { weigh } from '../../shared/json/weigh.ts';
import { repairHistory } from '../messages/repair-history.ts';
import { forAnotherModel, messagesOfRound } from '../messages/round-messages.ts';
import { demandedForm } from '../modes/demanded-form.ts';
import { shareAmong } from '../results/truncate-result.ts';
import {
  amidRound,
  betweenRounds,
  isAmidRound,
  resumedRound,
  turnOf,
  type LoopCheckpoint,
  type LoopState,
} from '../suspend/loop-checkpoint.ts';
import { suspendRun } from '../suspend/suspend-run.ts';
import type { KeepTasks } from '../tool-calls/context/round-tasks.ts';
import { createDuplicateCallGuard, type DuplicateCallGuard } from '../tool-calls/duplicate-call-guard.ts';
import { nameCall, type NamedCall } from '../fit-calls/name-calls.ts';
import { ranIn } from '../tool-calls/ran-calls.ts';
import { isCut, partitionToolCalls } from '../tool-calls/partition-tool-calls.ts';
import { limitReached, runRound, usageEvents, type ToolRound } from '../tool-calls/run-round.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';
import { forcedChoiceIn, requestCall, type ForcedChoice } from '../tool-choice/force-tool-choice.ts';
import { holdText } from '../turns/hold-text.ts';
import { requestLastAnswer, requestTurn, type Turn } from '../turns/request-turn.ts';
import { thoughtBefore } from '../thoughts/thought-fields.ts';
import { createTurnSeparator, type TurnSeparator } from '../turns/separate-turns.ts';
import type { ChatRun, Handoff } from './chat-run.ts';
import { changeData } from '../config/config-update.ts';
import { CurrentOffer } from './current-offer.ts';
import type { NextStep, Step } from './next-step.ts';
import { originOf } from './request-origin.ts';
import { createRoundBudget, type RoundBudget } from './round-budget.ts';
import { Transcript } from './transcript.ts';
import { handoffIn } from './hand-off.ts';

/** A run under way. */
interface Loop {
  chat: ChatRun;
  /** Emits events unless there are none. */
  emit: Emit<ChatEvent>;
  offer: CurrentOffer;
  transcript: Transcript;
  guard: DuplicateCallGuard;
  budget: RoundBudget;
  origin: RequestOrigin;
  separator: TurnSeparator;
  /** Whether the forced `tool_choice` has not been fulfilled yet. */
  isChoiceOpen: boolean;
  /** The first answer said nothing, so it is requested once more. */
  isAskedAgain: boolean;
  /** What has been counted by `RunContext.hold`: messages, and characters of pictures and stored results. */
  held: { messages: number; others: number };
}

/**
 * Requests the model, runs the tools that it calls, and requests it again with the results, until it answers without calls. When a limit is reached,
 * it is requested without tools, so that there always is an answer.
 */
export async function runChat(chat: ChatRun, sink: Emit<ChatEvent>): Promise<Handoff | undefined> {
  const loop = beginLoop(chat, (events) => (events.length === 0 ? undefined : sink(events)));
  const { emit, offer, transcript, separator } = loop;
  const { conversation } = chat.settings.run;
  if (conversation !== undefined) conversation.offeredToolIds = () => offer.toolIds();
  for (let step = firstStep(loop); ;) {
    switch (step.type) {
      case 'request_turn':
        step = await requestNextTurn(loop);
        break;
      case 'run_tools':
        step = await runTools(step, loop);
        break;
      case 'last_answer':
        step = await requestAnswer(step, loop);
        break;
      case 'answer': {
        // Some servers report `tool_calls` even if no calls are returned; clients would wait for them.
        const slow = emit([{ type: 'finish', reason: step.finishReason === 'tool_calls' ? 'stop' : step.finishReason }]);
        if (slow !== undefined) await slow;
        return undefined;
      }
      case 'return_calls': {
        const calls = await chat.saveForClient(step.calls, transcript.added);
        transcript.recordReturned(step.calls, calls);
        const returned = calls.map((call): ChatEvent => ({ type: 'tool-call', call }));
        await emit([...thoughtBefore(transcript.added), ...returned, { type: 'finish', reason: 'tool_calls' }]);
        return undefined;
      }
      case 'hand_off':
        return { preset: step.preset, messages: forAnotherModel(transcript.added), functions: offer.names, separator };
      case 'stop':
        await emit([{ type: 'finish', reason: 'stop' }]);
        return undefined;
      case 'suspended':
        return undefined;
    }
  }
}

function beginLoop(chat: ChatRun, emit: Emit<ChatEvent>): Loop {
  const { resumed, request, settings } = chat;
  const messages = resumed?.messages ?? repairHistory(chat.messages);
  const forced = forcedChoiceIn(request.toolChoice);
  const demanded = forced?.type === 'named' ? forced.name : undefined;
  const { callerNames, contextTokens } = chat;
  const offer = new CurrentOffer({ offer: chat.offer, callerNames, canReadOn: canCallAgain(chat), contextTokens, demanded, resumed });
  return {
    chat,
    emit,
    offer,
    transcript: new Transcript({
      messages,
      historyLength: resumed?.historyLength ?? messages.length,
      record: settings.run.transcript,
    }),
    guard: createDuplicateCallGuard(resumed?.guardedCalls),
    budget: createRoundBudget({ ...chat, now: settings.now }, resumed?.budget),
    origin: originOf(settings.run.caller, () => offer.tools),
    separator: createTurnSeparator(),
    isChoiceOpen: resumed?.isChoiceOpen ?? true,
    isAskedAgain: false,
    held: { messages: resumed === undefined ? messages.length : 0, others: 0 },
  };
}

function firstStep({ chat: { resumed, callerNames }, offer }: Loop): NextStep {
  if (!isAmidRound(resumed)) return { type: 'request_turn' };
  return {
    type: 'run_tools',
    turn: turnOf(resumed),
    calls: resumed.turn.calls.map((call) => nameCall(call, offer.tools, callerNames)),
    resumed,
  };
}

async function requestNextTurn(loop: Loop): Promise<NextStep> {
  const { chat, emit, offer, budget, separator } = loop;
  const limit = budget.reached();
  if (limit !== undefined) return { type: 'last_answer', limit };
  beforeRequest(loop);
  const separated = separator.separate(emit);
  const held = demandedForm(chat.request.parameters) === undefined ? undefined : holdText(separated, chat.request.stream);
  const turn = writtenNow(await requestWithTools(loop, held?.emit ?? separated), chat);
  if (turn.toolCalls.length > 0) await emit(offer.addCalled(turn.toolCalls, chat.settings.now()));
  const { callerNames, returnsOneCall, choice, request } = chat;
  const { toolChoice, parallelToolCalls } = request;
  const { calls, refused } = partitionToolCalls(turn, {
    tools: offer.tools,
    callerNames,
    toolChoice,
    forced: forcedNow(loop),
    isSingleCall: choice.isSingleCall,
    returnsOneCall,
    parallelToolCalls,
  });
  if (refused.length > 0) await emit(refused);
  if (calls.length > 0) return { type: 'run_tools', turn, calls };
  await held?.release();
  return turn.isSilent && !isCut(turn) ? afterSilence(turn, loop) : answerWith(turn, loop);
}

/** Notes which fallback has written a turn, because no other model can read its thoughts. */
function writtenNow(turn: Turn, { answeringFallback }: ChatRun): Turn {
  const writtenBy = answeringFallback();
  return writtenBy === undefined ? turn : { ...turn, writtenBy };
}

/** An answer that says nothing is requested once more. One that the token limit or a filter ended would end the same way, and stands. */
function afterSilence(turn: Turn, loop: Loop): NextStep | Promise<NextStep> {
  // Offering functions again after calls could go on forever, and a selection has made its choice.
  if (turn.toolCalls.length > 0 || loop.budget.used().rounds > 0 || loop.chat.choice.path === 'prompt') return { type: 'last_answer' };
  // A forced call has been requested twice already.
  if (loop.isAskedAgain || forcedNow(loop) !== undefined) return answerWithNotice(turn, loop);
  loop.isAskedAgain = true;
  return { type: 'request_turn' };
}

function answerWith({ text, finishReason }: Turn, { transcript }: Loop): NextStep {
  transcript.recordAnswer(text);
  return { type: 'answer', finishReason };
}

async function answerWithNotice(turn: Turn, loop: Loop): Promise<NextStep> {
  const text = loop.budget.used().rounds > 0 ? 'The model gave no answer after its last tool calls.' : 'The model gave no answer.';
  await loop.emit([{ type: 'text', text }]);
  return answerWith({ ...turn, text }, loop);
}

async function runTools({ turn, calls, resumed }: Step<'run_tools'>, loop: Loop): Promise<NextStep> {
  const { chat, emit, offer, transcript, separator } = loop;
  const { suspension, repeat, signal } = chat.settings.run;
  const all = calls.map(({ call }) => call);
  const callerCalls = all.filter(({ name }) => chat.callerNames.has(name));
  const gatewayCalls = calls.filter(({ call }) => !chat.callerNames.has(call.name));
  // The client is gone: approved calls have not started yet, and can be resumed later.
  if (suspension?.resumed !== undefined) signal.throwIfAborted();
  setCheckpoint(loop, undefined);
  const keepTasks = tasksKeeper(loop, turn, all);
  const results = await runRound(gatewayCalls, { ...roundOf(gatewayCalls, loop, resumed), keepTasks }, emit);
  repeat?.noteRan(ranIn(results, offer.tools));
  if (signal.aborted) transcript.recordInterrupted(messagesOfRound(turn, all, results));
  signal.throwIfAborted();
  if (results.some(({ suspended }) => suspended !== undefined)) {
    const isSuspended = await suspendRun({ suspension, turn, calls: all, results, loop: stateOf(loop), separator }, emit);
    if (isSuspended) return { type: 'suspended' };
  }
  transcript.addRound(messagesOfRound(turn, all, results));
  chat.pictures.add(results);
  const lookups = new Set(results.filter(({ tool }) => offer.tools.get(tool?.name ?? '')?.isHelper === true));
  loop.budget.spend(results, results.length > 0 && lookups.size === results.length);
  await emit(usageEvents(results));
  const preset = callerCalls.length > 0 ? undefined : handoffIn(results);
  // Another preset begins with its own tools and instructions.
  if (preset === undefined) await applyChanges(loop, results);
  if (callerCalls.length > 0) return { type: 'return_calls', calls: callerCalls };
  if (preset !== undefined) return { type: 'hand_off', preset };
  if (endsRun(results)) return { type: 'stop' };
  if (results.some((result) => result.isReady && fulfilsChoice(result, lookups.has(result), chat))) loop.isChoiceOpen = false;
  offer.addReader();
  await emit(offer.addFound(results, chat.settings.now()));
  return offer.tools.size + chat.request.callerTools.length > 0 ? { type: 'request_turn' } : { type: 'last_answer' };
}

function roundOf(
  calls: readonly NamedCall[],
  { chat, offer, guard, budget, separator }: Loop,
  resumed: LoopCheckpoint | undefined,
): ToolRound {
  const { settings, changing, request } = chat;
  const { reader } = offer;
  return {
    tools: offer.tools,
    settings,
    scope: {
      guard,
      ...(reader && { reader }),
      resultBytes: shareAmong(offer.shareBytes, calls.length),
      ...(changing && { selection: { check: (toolIds: readonly string[]) => changing.check(toolIds), toolIds: () => offer.toolIds() } }),
    },
    // Text from functions would spoil an answer in a demanded format.
    toParagraph: demandedForm(request.parameters) === undefined ? (text: string) => separator.paragraph(text) : undefined,
    callsLeft: budget.callsLeft(),
    callsPerRun: budget.callsPerRun,
    finderName: offer.finderName,
    ...resumedRound(resumed, calls, settings.run),
  };
}

/** Applies what functions of this round have changed in the chat; of several changes of the same thing the last one counts. */
async function applyChanges({ chat, emit, offer, transcript }: Loop, results: readonly ToolCallResult[]): Promise<void> {
  const { changing, settings } = chat;
  if (changing === undefined) return;
  const changes: ConfigChange = Object.assign({}, ...results.map((result) => result.changes));
  if (Object.keys(changes).length > 0) {
    const before = offer.names;
    const time = settings.now();
    const changed = await changing.change(changes, time);
    if (changed.offer !== undefined) offer.replace(changed.offer);
    if (changed.system !== undefined) transcript.replaceSystem(changed.system);
    await emit(offer.changeEvents(before, changeData(changes, time), changed.offer?.warnings));
  }
  if (results.some(({ outcome }) => outcome.type === 'result' && outcome.renewsOffer === true)) {
    const renewed = await changing.renew();
    const before = offer.names;
    offer.renew(renewed);
    await emit(offer.changeEvents(before, changeData({}, settings.now()), renewed.warnings));
  }
}

async function requestAnswer({ limit }: Step<'last_answer'>, loop: Loop): Promise<NextStep> {
  const { chat, emit, separator } = loop;
  // A selection has only one round anyway, which is not worth reporting as a limit.
  if (limit !== undefined && (limit.limit !== 'tool_rounds' || canCallAgain(chat))) await emit([limitReached(limit.limit, limit.value)]);
  beforeRequest(loop);
  const last = await requestLastAnswer(chat.backend, requestFor(loop), separator.separate(emit));
  return last.isSilent && !isCut(last) ? answerWithNotice(last, loop) : answerWith(last, loop);
}

/** The result of a helper is read for another call, so it fulfils a forced choice only if the helper was named. */
function fulfilsChoice({ tool }: ToolCallResult, isLookup: boolean, { request }: ChatRun): boolean {
  const forced = forcedChoiceIn(request.toolChoice);
  return !isLookup || (forced?.type === 'named' && forced.name === tool?.name);
}

function canCallAgain({ choice }: ChatRun): boolean {
  return choice.path !== 'prompt' && !choice.isSingleCall;
}

/**
 * If the run fails and the request is repeated, it continues from here with the next model request. Counts what has been added since the last one.
 * @throws GatewayError `overloaded`
 */
function beforeRequest(loop: Loop): void {
  setCheckpoint(loop, () => betweenRounds(stateOf(loop)));
  const { chat, transcript, offer, held } = loop;
  const added = transcript.messages.slice(held.messages);
  const others = (offer.reader?.results.entries() ?? []).reduce((sum, text) => sum + text.length, chat.pictures.characters);
  const characters = (added.length === 0 ? 0 : weigh(added)) + others - held.others;
  loop.held = { messages: transcript.messages.length, others };
  if (characters !== 0) chat.settings.run.hold?.(characters);
}

function setCheckpoint({ chat }: Loop, checkpoint: (() => JsonObject) | undefined): void {
  const { suspension, repeat } = chat.settings.run;
  suspension?.resumed?.setCheckpoint(checkpoint);
  repeat?.setCheckpoint(checkpoint);
}

/** Stores a round with calls that are tasks of their servers. A preset that was called as a tool cannot be continued by itself. */
function tasksKeeper(loop: Loop, turn: Turn, calls: ToolCall[]): KeepTasks | undefined {
  const { suspension, repeat, nested } = loop.chat.settings.run;
  if (nested !== undefined) return undefined;
  return async (round) => {
    const checkpoint = round && amidRound(stateOf(loop), { turn, calls, ...round });
    // A decision resumed this run. The same one resumes it again after a shutdown.
    suspension?.resumed?.setCheckpoint(checkpoint && ((): JsonObject => checkpoint));
    if (round === undefined || checkpoint === undefined) {
      await repeat?.forgetTasks();
      return false;
    }
    const ended = round.results.filter((result) => result !== undefined);
    const ran = [...ranIn(ended, loop.offer.tools), ...round.tasks].map(({ label }) => label);
    return repeat === undefined ? suspension?.resumed !== undefined : repeat.keepTasks(checkpoint, ran);
  };
}

function stateOf({ chat, offer, transcript, guard, budget, isChoiceOpen }: Loop): LoopState {
  return {
    choice: chat.choice,
    messages: transcript.messages,
    historyLength: transcript.historyLength,
    tools: [...offer.names],
    guardedCalls: guard.entries(),
    budget: budget.used(),
    results: offer.reader?.results.entries() ?? [],
    isChoiceOpen,
  };
}

/** A forced choice applies once: if it were forced again after its call, the model could never answer. A selection applies it by itself. */
function forcedNow({ chat: { choice, request }, isChoiceOpen }: Loop): ForcedChoice | undefined {
  return isChoiceOpen && choice.path !== 'prompt' ? forcedChoiceIn(request.toolChoice) : undefined;
}

function requestWithTools(loop: Loop, emit: Emit<ChatEvent>): Promise<Turn> {
  const { chat, isChoiceOpen } = loop;
  const { toolChoice } = chat.request;
  const request = { ...requestFor(loop), toolChoice: isChoiceOpen || toolChoice === 'none' ? toolChoice : undefined };
  const choice = forcedNow(loop);
  return choice === undefined ? requestTurn(chat.backend, request, emit) : requestCall(chat.backend, request, { choice, emit });
}

function requestFor({ chat, offer, transcript, budget, origin, isAskedAgain }: Loop): ModelRequest {
  const reason = isAskedAgain && budget.used().rounds === 0 ? { reason: 'no_words' as const } : {};
  return {
    messages: transcript.messages,
    tools: offer.specs,
    offered: offer.tools,
    ...chat.request,
    toolChoice: undefined,
    origin,
    purpose: { type: 'round', round: budget.used().rounds + 1, maxRounds: chat.maxRounds, ...reason },
  };
}

/** A function may end the run; functions without a reply end it if no other call needs one. */
function endsRun(results: readonly ToolCallResult[]): boolean {
  return results.some(({ followUp }) => followUp?.type === 'stop') || results.every(({ followUp }) => followUp?.type === 'no-reply');
}
