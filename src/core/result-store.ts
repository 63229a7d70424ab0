/**
 * Results that are larger than what a model may read at once, kept for the rest of one run so that it can read on (`read_result`).
 * A tool need not know of it: it returns all it has read, at most `limits.keptResultBytes`, and the runtime cuts and keeps. Only a tool
 * that can fetch more than that keeps pieces itself (`ToolInvocation.results`).
 */
export interface ResultStore {
  /** Gives the reference by which the model reads on; undefined when the run keeps too much already, and the rest is lost. */
  keep(text: string): string | undefined;
  /** The whole text; undefined for a reference that this run has not given. */
  find(reference: string): string | undefined;
  /** All of it, in the order in which it was kept: a store that begins with this gives the same references. */
  entries(): string[];
  /** Whether anything is kept: only then is `read_result` offered. */
  readonly isEmpty: boolean;
}
