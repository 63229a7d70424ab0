import type { FinishReason, ToolCall } from '../../core/chat/chat.ts';
import type { LoopCheckpoint } from '../suspend/loop-checkpoint.ts';
import type { NamedCall } from '../fit-calls/name-calls.ts';
import type { Turn } from '../turns/request-turn.ts';
import type { ReachedLimit } from './round-budget.ts';

/** The next step of the loop. All but the first three end it. */
export type NextStep =
  | { type: 'request_turn' }
  /** `calls`: those of the turn that may run, including calls of the caller's functions. `resumed`: the round was suspended between these calls. */
  | { type: 'run_tools'; turn: Turn; calls: NamedCall[]; resumed?: LoopCheckpoint }
  /** Request the model without tools: a limit is reached, or it gave no answer. */
  | { type: 'last_answer'; limit?: ReachedLimit }
  | { type: 'answer'; finishReason: FinishReason }
  /** The client has to run its own functions. */
  | { type: 'return_calls'; calls: ToolCall[] }
  /** Another preset takes over. */
  | { type: 'hand_off'; preset: string }
  /** A function has ended the run. */
  | { type: 'stop' }
  /** The run continues in another request. */
  | { type: 'suspended' };

/** A step of one type. */
export type Step<Type extends NextStep['type']> = Extract<NextStep, { type: Type }>;
