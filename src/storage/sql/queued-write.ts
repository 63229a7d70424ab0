/** Whose write it is, for a queue that is fair among callers. */
export interface QueuedWrite {
  /** Empty: the gateway's own, of which there are few. */
  callerId: string;
  /** What it keeps in memory while it waits. */
  characters: number;
}
