import type { AssistantMessage, ChatMessage } from '../chat/chat.ts';
import type { JsonObject, JsonValue } from '../../shared/json/json.ts';
import type { RunContext } from '../runs/run.ts';
import type { ToolSpec } from './tool.ts';

/** Ends the run; the message is for the client. */
export interface HookAbort {
  type: 'abort';
  message: string;
}

/** `undefined` changes nothing; `answer` replaces the model's answer. */
type BeforeModelDecision =
  | undefined
  | HookAbort
  | { type: 'answer'; message: AssistantMessage }
  | { type: 'messages'; messages: ChatMessage[] };
type AfterModelDecision = undefined | HookAbort | { type: 'answer'; message: AssistantMessage };
/** `reject`: the function does not run, and the model reads the message. */
export type BeforeToolDecision =
  | undefined
  | HookAbort
  | { type: 'result'; value: JsonValue }
  | { type: 'arguments'; args: JsonObject }
  | { type: 'reject'; message: string };
export type AfterToolDecision = undefined | HookAbort | { type: 'result'; value: JsonValue } | { type: 'reject'; message: string };

/** Why the model is asked: to choose calls by a prompt, or for anything else. */
export type HookedPurpose = 'selection' | 'answer';

export interface HookedModelRequest {
  purpose: HookedPurpose;
  model: string;
  messages: readonly ChatMessage[];
  tools: readonly ToolSpec[];
}

export interface HookedCall {
  name: string;
  args: JsonObject;
}

export interface HookInvocation {
  run: RunContext;
  /** Aborted at the hook's time limit and when the run is aborted. */
  signal: AbortSignal;
  /** For the hooks of models. */
  purpose?: HookedPurpose | undefined;
}

/** An operator's code between the gateway and models or functions. A rejected promise is a failure, to which `onFailure` applies. */
export interface Hook {
  /** For messages and the log. */
  readonly name: string;
  readonly timeoutMs: number;
  /** The presets that it belongs to: it is asked only while one of them answers, or one that is based on it. Absent: always. */
  readonly presets?: readonly string[];
  /** `abort`: a failure ends the run, because a failed guard must not let anything through. `ignore`: as if the hook had changed nothing. */
  readonly onFailure: 'ignore' | 'abort';
  beforeModel?(request: HookedModelRequest, invocation: HookInvocation): Promise<BeforeModelDecision>;
  afterModel?(message: AssistantMessage, invocation: HookInvocation): Promise<AfterModelDecision>;
  beforeTool?(call: HookedCall, invocation: HookInvocation): Promise<BeforeToolDecision>;
  afterTool?(call: HookedCall & { result: JsonValue }, invocation: HookInvocation): Promise<AfterToolDecision>;
}

export interface HookFault {
  hook: string;
  runId: string;
  error: unknown;
}
