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
  /**
   * The checkpoint of the failed run, returned only once. `ran`: the names of its calls, which are not made again. `hasTasks`: a restart ended it while
   * calls were tasks of their servers, which are followed again.
   */
  takeCheckpoint(): { loop: JsonObject; sources: readonly Source[]; ran: readonly string[]; hasTasks: boolean } | undefined;
  /** To be called when another request is answered from then on, such as after a hand-off. */
  answers(request: ChatRequest): void;
  /** Sets where the run could continue if it failed now; undefined while calls run, which must not run again. */
  setCheckpoint(loop: (() => JsonObject) | undefined): void;
  noteRan(calls: readonly RanCall[]): void;
  /**
   * Stores the run while calls of it are tasks of their servers, to be continued after a restart. `ran`: the names of the calls that are not made again.
   * False if it could not be stored. Never rejects.
   */
  keepTasks(loop: JsonObject, ran: readonly string[]): Promise<boolean>;
  /** Removes it again. Never rejects. */
  forgetTasks(): Promise<void>;
  /** To be called when the run has failed by its backend's fault. Never rejects. */
  keep(): Promise<void>;
}
