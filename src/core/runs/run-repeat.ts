import type { ChatRequest, Source } from '../chat/chat.ts';
import type { JsonObject } from '../../shared/json/json.ts';

/** A call that has run. `label`: the name that notes use for it. */
export interface RanCall {
  label: string;
  writes: boolean;
}

/** Lets a repeated request continue its run, if the backend failed after a call that writes. */
export interface RunRepeat {
  /** It continues a failed run, whose request it has. */
  readonly isBehind: boolean;
  /** The checkpoint of the failed run, returned only once. `ran`: the names of its calls, which are not made again. */
  takeCheckpoint(): { loop: JsonObject; sources: readonly Source[]; ran: readonly string[] } | undefined;
  /** To be called when another request is answered from then on, such as after a hand-off. */
  answers(request: ChatRequest): void;
  /** Sets where the run could continue if it failed now; undefined while calls run, which must not run again. */
  setCheckpoint(loop: (() => JsonObject) | undefined): void;
  noteRan(calls: readonly RanCall[]): void;
  /** To be called when the run has failed by its backend's fault. Never rejects. */
  keep(): Promise<void>;
}
