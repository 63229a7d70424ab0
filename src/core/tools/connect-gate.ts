import type { ServerToConnect } from '../user-input/connect.ts';
import type { RunContext } from '../runs/run.ts';
import type { RunEvent } from '../chat/run-event.ts';

export interface ConnectRequest {
  callId: string;
  /** The offered name. */
  tool: string;
  server: ServerToConnect;
  run: RunContext;
  /** Aborted when nobody waits for the call any more. */
  signal: AbortSignal;
  /** Emits `connect.request` and `connect.response`. */
  emit(event: RunEvent): void;
}

type ConnectOutcome =
  | { type: 'connected' }
  /** The person connects while nobody waits, so the run has to be suspended. */
  | { type: 'waiting' }
  /** `message`: for the model; absent if nobody could be asked. */
  | { type: 'refused'; message?: string };

/** Has a person connect to a server that a call needs. Without a gate such calls fail. */
export interface ConnectGate {
  connect(request: ConnectRequest): Promise<ConnectOutcome>;
}
