import type { ChatEvent, ChatMessage, FinishReason, ToolCall } from '../../core/chat.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { ModelBackend, ModelRequest } from '../../core/model.ts';
import type { Tool, ToolOffer, ToolSpec } from '../../core/tool.ts';
import { pullFrom } from '../../shared/emit.ts';
import type { Emit } from '../../shared/emit.ts';
import { requestLastAnswer, requestModel } from './request-model.ts';
import type { Turn } from './request-model.ts';
import { offerCalledTools, offerFoundTools } from './deferred-tools.ts';
import { createDuplicateCallGuard } from '../tool-calls/duplicate-call-guard.ts';
import type { ToolCallResult, ToolCallScope, ToolCallSettings } from '../tool-calls/tool-call-result.ts';
import type { ModeChoice } from '../modes/choose-mode.ts';
import { forcedChoiceIn, requestCall } from '../tool-choice/force-tool-choice.ts';
import type { ForcedChoice } from '../tool-choice/force-tool-choice.ts';
import { resultShareBytes, shareAmong } from '../results/truncate-result.ts';
import { forAnotherModel, messagesOfRound, repairHistory } from './repair-history.ts';
import { createResultStore } from '../results/stored-results.ts';
import { betweenRounds, suspendRun } from '../suspend/suspend-run.ts';
import type { RoundToSuspend } from '../suspend/suspend-run.ts';
import { createReadResultTool, readerNameBeside } from '../results/read-result-tool.ts';
import { createRoundBudget } from './round-budget.ts';
import type { RoundBudget } from './round-budget.ts';
import { limitReached, runRound } from '../tool-calls/run-round.ts';
import { createTurnSeparator } from './separate-turns.ts';
import type { TurnSeparator } from './separate-turns.ts';
import { isCut, partitionToolCalls } from '../tool-calls/partition-tool-calls.ts';
import { isAmidRound, resumedRound, saidIn, turnOf } from '../suspend/loop-checkpoint.ts';
import type { LoopCheckpoint } from '../suspend/loop-checkpoint.ts';

export interface ChatRun {
  backend: ModelBackend;
  /** The backend's name of the model. */
  model: string;
  messages: ChatMessage[];
  tools: ReadonlyMap<string, Tool>;
  /** What the offer holds back, and the tool that brings it in. */
  finder?: NonNullable<ToolOffer['finder']>;
  /** The caller's own entries of `tools`, and the names of those that are functions. */
  callerTools: JsonObject[];
  callerNames: ReadonlySet<string>;
  toolChoice: JsonValue | undefined;
  parallelToolCalls: boolean | undefined;
  parameters: JsonObject;
  stream: boolean;
  /** Rounds of tool calls; after them comes one last round without tools. */
  maxRounds: number;
  /** `prompt`: the backend is a selection pass, for which one round is its nature. Only a native one may ignore a forced choice. */
  path: 'native' | 'prompt' | 'react';
  /** `simple`: only the first call of the first round runs. */
  isSingleCall: boolean;
  handsOverOne?: boolean | undefined;
  /** How much the model can read, where that is known. */
  contextTokens?: number;
  settings: ToolCallSettings;
  /** As it was chosen, for a run that is put away. */
  choice?: ModeChoice;
  /** What a run that was put away goes on with, in place of `messages`. */
  resumed?: LoopCheckpoint;
  /** Keeps what was executed beside calls to the caller's own functions, until the caller answers them; gives the calls as they are handed over. */
  keepForCaller(callerCalls: readonly ToolCall[], messages: readonly ChatMessage[]): Promise<ToolCall[]>;
}

/**
 * Asks the model, runs the tools it calls, and asks again with their results, until it answers without calling any.
 * When a limit ends the calling, no tools are offered any more, so that there always is an answer.
 */
export async function* runChat(chat: ChatRun): AsyncGenerator<ChatEvent, Handoff | undefined> {
  const state = beginRun(chat);
  const { messages, budget, separator } = state;
  const place = chat.settings.run.wait?.resumed;
  let resumed = isAmidRound(chat.resumed) ? chat.resumed : undefined;
  let limit = budget.reached();
  for (; limit === undefined || resumed !== undefined; limit = budget.reached()) {
    if (resumed === undefined) place?.standsAt(() => betweenRounds(waitingRound(chat, state).loop));
    const turn =
      resumed === undefined
        ? yield* pullFrom((emit: Emit<ChatEvent>) => requestTurn(chat, state, separator.separate(emit)))
        : turnOf(resumed);
    if (resumed === undefined) yield* offerCalledTools(chat.finder, state.tools, turn.toolCalls);
    const rules = { ...chat, tools: state.tools, forced: forcedNow(chat, state) };
    const { calls, refused } = resumed === undefined ? partitionToolCalls(turn, rules) : { calls: turn.toolCalls, refused: [] };
    yield* refused;
    // Whoever forbids calls still wants an answer, and so does who has seen tools run; where a limit has cut it, another question would end alike.
    const owesAnswer = turn.toolCalls.length > 0 || budget.used().rounds > 0;
    if (calls.length === 0 && owesAnswer && turn.isSilent && !isCut(turn)) break;
    if (calls.length === 0) {
      yield finish(turn.finishReason);
      return undefined;
    }

    const callerCalls = calls.filter((call) => chat.callerNames.has(call.name));
    const ownCalls = calls.filter((call) => !chat.callerNames.has(call.name));
    const around = { ...state.around, resultBytes: shareAmong(state.shareBytes, ownCalls.length) };
    const round = { tools: state.tools, settings: chat.settings, around, callsLeft: budget.callsLeft(), finderName: finderNameIn(chat) };
    // Nobody is there any more: what was approved has not begun yet, and may be taken up again.
    if (place !== undefined) chat.settings.run.signal.throwIfAborted();
    place?.standsAt(undefined);
    const reports = yield* runRound(ownCalls, { ...round, ...resumedRound(resumed, ownCalls, chat.settings.run) });
    resumed = undefined;
    const isWaiting = reports.some((report) => report.isWaiting === true);
    if (isWaiting && (yield* suspendRun({ ...waitingRound(chat, state), turn: { ...saidIn(turn), calls }, reports }))) return undefined;
    messages.push(...messagesOfRound(turn, calls, reports));
    budget.spend(reports);
    for (const { outcome } of reports) if (outcome.usage !== undefined) yield { type: 'usage', usage: outcome.usage };
    if (callerCalls.length > 0) {
      const handedOver = await chat.keepForCaller(callerCalls, messages.slice(state.historyLength));
      for (const call of handedOver) yield { type: 'tool-call', call };
      yield finish('tool_calls', 'tool_calls');
      return undefined;
    }
    const preset = handoffIn(reports);
    if (preset !== undefined)
      return { preset, messages: forAnotherModel(messages.slice(state.historyLength)), functions: [...state.tools.keys()] };
    if (endsRun(reports)) {
      yield finish('stop');
      return undefined;
    }
    afterRound(state, reports);
    yield* offerFoundTools(chat.finder, state.tools, reports);
  }
  if (limit !== undefined && (limit.limit !== 'tool_rounds' || readsOn(chat))) yield limitReached(limit.limit, limit.value);
  place?.standsAt(() => betweenRounds(waitingRound(chat, state).loop));
  yield* lastAnswer(chat, state);
  return undefined;
}

/** The conversation goes on under another preset; `messages` are what this run has added to it. */
export interface Handoff {
  preset: string;
  messages: ChatMessage[];
  /** Names of what was on offer until then. */
  functions: string[];
}

function handoffIn(reports: readonly ToolCallResult[]): string | undefined {
  return reports.map(({ followUp }) => (followUp?.type === 'handoff' ? followUp.preset : undefined)).find((preset) => preset !== undefined);
}

interface RunState {
  messages: ChatMessage[];
  /** Of the repaired history, before this run. */
  historyLength: number;
  tools: Map<string, Tool>;
  around: ToolCallScope;
  /** What one result may hand to the model. */
  shareBytes: number;
  budget: RoundBudget;
  separator: TurnSeparator;
  /** Whether the request's forced choice still waits for its call. */
  isChoiceOpen: boolean;
}

/** Only a model that may call again can read on in a result that was cut. */
function readsOn(chat: ChatRun): boolean {
  return chat.path !== 'prompt' && !chat.isSingleCall;
}

function finderNameIn(chat: ChatRun): string | undefined {
  return readsOn(chat) ? chat.finder?.tool.spec.name : undefined;
}

function beginRun(chat: ChatRun): RunState {
  const { resumed } = chat;
  const messages = resumed?.messages ?? repairHistory(chat.messages);
  const around: ToolCallScope = { ledger: createDuplicateCallGuard(resumed?.ledger) };
  if (readsOn(chat)) {
    around.results = createResultStore(resumed?.results);
    around.readerName = readerNameBeside(new Set([...chat.tools.keys(), ...chat.callerNames]));
  }
  const tools = new Map(
    chat.finder !== undefined && readsOn(chat) ? [...chat.tools, [chat.finder.tool.spec.name, chat.finder.tool]] : chat.tools,
  );
  const forced = forcedChoiceIn(chat.toolChoice);
  // What the request demands is on offer, whether or not it fitted.
  const brought = [...(resumed?.tools ?? []), ...(forced?.type === 'named' ? [forced.name] : [])];
  for (const tool of brought.flatMap((name) => chat.finder?.shelf.get(name) ?? [])) tools.set(tool.spec.name, tool);
  return {
    messages,
    historyLength: resumed?.historyLength ?? messages.length,
    tools,
    around,
    shareBytes: resultShareBytes(chat.contextTokens),
    budget: createRoundBudget(chat.maxRounds, chat.settings.now, resumed?.budget),
    separator: createTurnSeparator(),
    isChoiceOpen: resumed?.isChoiceOpen ?? true,
  };
}

/** What of the loop is kept when it is put away amid a round. */
function waitingRound(chat: ChatRun, state: RunState): Pick<RoundToSuspend, 'wait' | 'loop' | 'separator'> {
  const { messages, historyLength, tools, around, budget, separator, isChoiceOpen } = state;
  const loop = {
    choice: chat.choice ?? { path: chat.path, mayFallBack: false, isSingleCall: chat.isSingleCall },
    messages,
    historyLength,
    tools: [...tools.keys()],
    ledger: around.ledger?.entries() ?? [],
    budget: budget.used(),
    results: around.results?.entries() ?? [],
    isChoiceOpen,
  };
  return { wait: chat.settings.run.wait, loop, separator };
}

/** A forced choice is obeyed once: forced again after its call, the model could never answer. */
function forcedNow(chat: ChatRun, { isChoiceOpen }: RunState): ForcedChoice | undefined {
  return isChoiceOpen && chat.path === 'native' ? forcedChoiceIn(chat.toolChoice) : undefined;
}

function requestTurn(chat: ChatRun, state: RunState, emit: Emit<ChatEvent>): Promise<Turn> {
  const toolChoice = state.isChoiceOpen || chat.toolChoice === 'none' ? chat.toolChoice : undefined;
  const request = { ...requestFor(chat, state), toolChoice };
  const forced = forcedNow(chat, state);
  return forced === undefined ? requestModel(chat.backend, request, emit) : requestCall(chat.backend, request, { choice: forced, emit });
}

function requestFor(chat: ChatRun, { messages, tools, budget }: RunState): ModelRequest {
  return {
    model: chat.model,
    messages,
    tools: Array.from(tools.values(), (tool): ToolSpec => tool.spec),
    callerTools: chat.callerTools,
    toolChoice: undefined,
    parallelToolCalls: chat.parallelToolCalls,
    parameters: chat.parameters,
    stream: chat.stream,
    signal: chat.settings.run.signal,
    asking: { purpose: 'round', round: budget.used().rounds + 1, maxRounds: chat.maxRounds },
  };
}

/** A function may end the run; silent ones end it when nothing else waits for a reply. */
function endsRun(reports: readonly ToolCallResult[]): boolean {
  return reports.some(({ followUp }) => followUp?.type === 'stop') || reports.every(({ followUp }) => followUp?.type === 'no-reply');
}

function afterRound(state: RunState, reports: readonly ToolCallResult[]): void {
  if (reports.some(({ prepared }) => prepared.type === 'ready')) state.isChoiceOpen = false;
  const { results, readerName } = state.around;
  if (results === undefined || results.isEmpty || readerName === undefined) return;
  if (!state.tools.has(readerName)) state.tools.set(readerName, createReadResultTool(readerName, results, state.shareBytes));
}

async function* lastAnswer(chat: ChatRun, state: RunState): AsyncGenerator<ChatEvent> {
  const last = yield* pullFrom((emit: Emit<ChatEvent>) =>
    requestLastAnswer(chat.backend, requestFor(chat, state), state.separator.separate(emit)),
  );
  if (last.isSilent && !isCut(last)) {
    yield { type: 'text', text: 'The model gave no answer after its last tool calls.' };
  }
  yield finish(last.finishReason);
}

/** Servers say `tool_calls` where none are handed over; a client would wait for them. */
function finish(reason: FinishReason, instead: FinishReason = 'stop'): ChatEvent {
  return { type: 'finish', reason: reason === 'tool_calls' ? instead : reason };
}
