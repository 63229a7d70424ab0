/**
 * Results that are too large for a model to read at once, kept for the rest of one run so that the model can read on (`read_result`).
 * Tools need not know about it: they return everything up to `limits.keptResultBytes`, and the runtime truncates and stores it. Only a tool
 * that can fetch more than that stores parts itself (`ToolInvocation.results`).
 */
export interface ResultStore {
  /** Stores a text and returns the reference with which the model reads on; undefined if the run has stored too much, and the rest is lost. */
  add(text: string): string | undefined;
  /** The whole text; undefined for a reference that is not from this run. */
  find(reference: string): string | undefined;
  /** All texts, in the order in which they were stored: a new store that starts with them returns the same references. */
  entries(): string[];
  /** True while nothing is stored; then `read_result` is not offered. */
  readonly isEmpty: boolean;
}
