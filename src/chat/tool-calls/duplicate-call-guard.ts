import { createHash } from 'node:crypto';
import type { JsonObject } from '../../shared/json/json.ts';
import type { Tool, ToolErrorCode, ToolOutcome } from '../../core/tools/tool.ts';
import { canonicalJson } from '../fit-calls/canonical-json.ts';

/** How often an identical call runs in one run without a new result; the next one gets an explanation instead. */
const identicalCalls = 2;

/** The calls of one function with one set of arguments in a run. Plain data, so that it can be stored in a checkpoint. */
export interface GuardedCall {
  tool: string;
  /** Canonical JSON. */
  args: string;
  /** Calls started since one of them last returned something new. */
  count: number;
  /** The digest of the last result. */
  resultDigest?: string;
  /** The function is read-only. */
  isReading?: true;
  /** `running` in a restored entry means that its end was never observed: it counts as unknown. */
  state: 'waiting' | 'running' | 'settled' | 'unknown';
}

type DuplicateCallRefusal = { code: ToolErrorCode; message: string };

/**
 * Blocks repeated calls within one run. Calls are equal if function and arguments are; call ids differ in every turn. At most `identicalCalls`
 * equal calls run without returning anything new. A result that differs from the previous one is new, and the count of a read-only call restarts
 * whenever another call has changed something. Further calls are answered with `duplicate_call_blocked`; functions that may repeat are exempt. The
 * decision is made when a call may run, so it makes no difference whether equal calls are in one round or in several. A call that may have taken
 * effect is never repeated by a retry or a resume.
 */
export interface DuplicateCallGuard {
  /** Why a call must not run in the current state. Does not count it. */
  objection(tool: Tool, args: JsonObject): DuplicateCallRefusal | undefined;
  /** For each call of a round, whether it might be blocked when it may run. Calls that certainly will not be blocked can be checked early. */
  mayObject(calls: readonly (RoundCall | undefined)[]): boolean[];
  /** Counts a call that starts now, or returns why it must not. `isResumed`: it was counted when it first started. */
  begin(tool: Tool, args: JsonObject, isResumed?: boolean): DuplicateCallRefusal | undefined;
  settle(tool: Tool, args: JsonObject, outcome: ToolOutcome): void;
  entries(): GuardedCall[];
}

interface RoundCall {
  tool: Tool;
  args: JsonObject;
}

export function createDuplicateCallGuard(known: readonly GuardedCall[] = []): DuplicateCallGuard {
  return new CallCounts(known);
}

/** A class, because one is made for each chat. */
class CallCounts implements DuplicateCallGuard {
  /** Made with the first call. */
  #entries: Map<string, GuardedCall> | undefined;

  constructor(known: readonly GuardedCall[]) {
    if (known.length === 0) return;
    this.#entries = new Map(
      known.map((entry) => [keyOf(entry.tool, entry.args), { ...entry, state: entry.state === 'running' ? 'unknown' : entry.state }]),
    );
  }

  objection(tool: Tool, args: JsonObject): DuplicateCallRefusal | undefined {
    const entry = this.#entries?.get(keyOf(tool.spec.name, canonicalJson(args)));
    if (entry === undefined) return undefined;
    if (isUnrepeatable(tool, entry)) return mayHaveHappened(tool);
    return tool.mayRepeat !== true && entry.count >= identicalCalls ? duplicate(tool) : undefined;
  }

  mayObject(calls: readonly (RoundCall | undefined)[]): boolean[] {
    const counts = new Map<string, number>();
    return calls.map((call) => {
      if (call === undefined || call.tool.mayRepeat === true) return false;
      const key = keyOf(call.tool.spec.name, canonicalJson(call.args));
      const count = counts.get(key) ?? this.#entries?.get(key)?.count ?? 0;
      counts.set(key, count + 1);
      return count >= identicalCalls;
    });
  }

  begin(tool: Tool, args: JsonObject, isResumed = false): DuplicateCallRefusal | undefined {
    const refusal = isResumed ? undefined : this.objection(tool, args);
    if (refusal !== undefined) return refusal;
    const entry = this.#entryOf(tool, args);
    entry.state = 'running';
    if (!isResumed) entry.count++;
    return undefined;
  }

  settle(tool: Tool, args: JsonObject, outcome: ToolOutcome): void {
    const entry = this.#entryOf(tool, args);
    if (entry.state !== 'unknown') entry.state = hasUnknownEnd(outcome) ? 'unknown' : 'settled';
    const digest = digestOf(outcome);
    const isNew = digest !== entry.resultDigest;
    // The first result is new too, but there is nothing yet to compare with.
    if (isNew && entry.resultDigest !== undefined) entry.count = 1;
    entry.resultDigest = digest;
    if (tool.isReadOnly !== true && mayHaveChangedSomething(outcome)) this.#resetReaders(entry);
  }

  entries(): GuardedCall[] {
    return Array.from(this.#entries?.values() ?? [], (entry) => ({ ...entry }));
  }

  #entryOf(tool: Tool, args: JsonObject): GuardedCall {
    const text = canonicalJson(args);
    const key = keyOf(tool.spec.name, text);
    const entries = (this.#entries ??= new Map());
    const entry: GuardedCall = entries.get(key) ?? {
      tool: tool.spec.name,
      args: text,
      count: 0,
      state: 'waiting',
      ...(tool.isReadOnly === true && { isReading: true }),
    };
    entries.set(key, entry);
    return entry;
  }

  /** Only for read-only calls: a payment must not be repeatable just because a note was saved. */
  #resetReaders(changed: GuardedCall): void {
    for (const entry of this.#entries?.values() ?? []) if (entry !== changed && entry.isReading === true) entry.count = 0;
  }
}

function mayHaveChangedSomething(outcome: ToolOutcome): boolean {
  return outcome.type === 'result' || hasUnknownEnd(outcome);
}

/** Whether a call without an answer may have taken effect. Adapters that know more set `state`. */
export function hasUnknownEnd(outcome: ToolOutcome): boolean {
  if (outcome.type === 'result') return false;
  if (outcome.state !== undefined) return outcome.state === 'outcome_unknown';
  return outcome.code === 'tool_timeout' || outcome.code === 'client_disconnected' || outcome.code === 'outcome_unknown';
}

/** Whether it can safely be executed twice. */
export function isRepeatable(tool: Tool): boolean {
  return tool.isReadOnly === true || tool.isIdempotent === true;
}

function isUnrepeatable(tool: Tool, entry: GuardedCall): boolean {
  return entry.state === 'unknown' && !isRepeatable(tool);
}

function mayHaveHappened(tool: Tool): DuplicateCallRefusal {
  const message =
    `An identical call to '${tool.spec.name}' did not return and may have succeeded, so it was not repeated. ` +
    'Find out with another function whether it did, or tell the user.';
  return { code: 'outcome_unknown', message };
}

function duplicate(tool: Tool): DuplicateCallRefusal {
  const message =
    `'${tool.spec.name}' was already called with exactly these arguments ${identicalCalls} times and returned nothing new, so it was not run again. ` +
    'Use the results above, call it with other arguments, or answer.';
  return { code: 'duplicate_call_blocked', message };
}

function keyOf(tool: string, args: string): string {
  return `${tool} ${args}`;
}

/** Failures are compared by code only, because a masked one has a new id in each message. A digest, because results may have 4 MB. */
function digestOf(outcome: ToolOutcome): string {
  if (outcome.type === 'error') return outcome.code;
  return createHash('sha256').update(JSON.stringify(outcome.value)).digest('base64');
}
