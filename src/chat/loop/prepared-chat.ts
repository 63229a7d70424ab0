import type { ConfigChange } from '../../core/chat/chat-config.ts';
import type { ChatMessage, ChatRequest } from '../../core/chat/chat.ts';
import type { ThoughtSeals } from '../../core/chat/thought.ts';
import type { FoundModel, ModelFinder, ModelRequest } from '../../core/models/model.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { ToolFinder, ToolOffer } from '../../core/tools/tool.ts';
import type { Continuations } from '../suspend/continuations.ts';
import type { LoopCheckpoint } from '../suspend/loop-checkpoint.ts';
import type { RunTranscripts } from '../suspend/run-transcripts.ts';
import { questionBefore } from '../suspend/turn-places.ts';
import type { ToolCallSettings } from '../tool-calls/tool-call-scope.ts';
import type { BackendRequest, ChatRun } from './chat-run.ts';
import type { Candidate } from './fall-back.ts';
import { specsOf } from './offered-lists.ts';
import { originOf } from './request-origin.ts';

export interface ChatServices {
  models: ModelFinder;
  tools: ToolFinder;
  continuations: Pick<Continuations, 'save' | 'saveByPlace' | 'restore'>;
  transcripts: Pick<RunTranscripts, 'restore'>;
  thoughtSeals: ThoughtSeals;
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

/**
 * Applies a change that a function made at this time to the run and its chat, and returns the changed request, with its presets applied.
 */
export type ChangeRequest = (change: ConfigChange, time: number) => Promise<ChatRequest>;

/** A request with everything that was found for it: its model, its tools, and the state of the chat. */
export interface PreparedChat {
  /** The messages are complete: variables are expanded, and earlier runs of the conversation are restored. */
  request: ChatRequest;
  run: RunContext;
  services: ChatServices;
  model: FoundModel;
  offer: ToolOffer;
  variables: ReadonlyMap<string, string>;
  /** Adds inline files to the messages. */
  withFiles: (messages: readonly ChatMessage[]) => ChatMessage[];
  resumed: LoopCheckpoint | undefined;
  /** Whether the run has shown text to its user. */
  hasShownText: () => boolean;
  /** Absent: functions cannot change the run. */
  change: ChangeRequest | undefined;
}

/** The parts of a request that go to the backend unchanged. */
export function toBackendRequest(
  { callerFunctions, hostedTools, toolChoice, parallelToolCalls, parameters, stream, completion }: ChatRequest,
  { name }: FoundModel,
  { signal }: RunContext,
): BackendRequest {
  const callerTools = [...callerFunctions.map(({ wire }) => wire), ...hostedTools];
  return { model: name, callerTools, toolChoice, parallelToolCalls, parameters, stream, completion, signal };
}

/** The first model request of a run in native mode. */
export function nativeRequest({ request, model, run, offer }: Pick<PreparedChat, 'request' | 'model' | 'run' | 'offer'>): ModelRequest {
  const origin = originOf(run.caller, offer);
  return { ...toBackendRequest(request, model, run), messages: request.messages, tools: specsOf(offer.tools), origin };
}

/** Stores a turn that ends with calls of the caller's functions, and returns these as the client gets them. */
export function saverFor({ request, run, services, model }: PreparedChat, answering: () => Candidate): ChatRun['saveForClient'] {
  const { continuations } = services;
  const { callIdSeed, returnsThoughts } = request;
  return (calls, messages) => {
    const turn = { model: answering().id ?? model.record.id, calls, messages, returnsThoughts };
    if (callIdSeed === undefined) return continuations.save(run.caller, turn);
    return continuations.saveByPlace(run.caller, { seed: callIdSeed, question: questionBefore(request.messages) }, turn);
  };
}
