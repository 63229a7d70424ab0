import type { ChatEvent } from '../../../core/chat/chat.ts';
import type { DataOf, RunEvent } from '../../../core/chat/run-event.ts';

/** Lines about what an answer is doing, for Open WebUI, which stores each with its message and writes the whole message anew. */
const statusChanges = 100;

/** One state of a status line. `isDone`: no work is in progress any more. A hidden line is not shown. */
export interface Status {
  text: string;
  isDone: boolean;
  isHidden?: true;
}

/** One line, in plain words, about what a run does besides writing. */
export class StatusLine {
  /** Names of functions by the ids of their calls. */
  readonly #running = new Map<string, string>();
  readonly #waiting = new Map<string, string>();
  /** Names of servers by the ids of the calls that need their user to connect. */
  readonly #connecting = new Map<string, string>();
  #succeeded: string[] = [];
  /** Names of functions by the way in which they failed. */
  #failed = new Map<string, string[]>();
  readonly #reports = new Map<string, number>();
  #report: string | undefined;
  #isChoosing = false;
  #queued: DataOf<'queue'> | undefined;
  #hasChanged = false;
  #shown: Status | undefined;
  #changes = 0;

  note(event: ChatEvent): void {
    if (event.type === 'run-event') this.#noteRunEvent(event.event);
    else if (event.type === 'selecting') {
      this.#isChoosing = true;
      this.#hasChanged = true;
    } else if (event.type === 'approval') {
      // Calls after those that wait for approval wait with them, as do calls around them.
      this.#running.clear();
      for (const { id, tool } of event.approval.calls) this.#waiting.set(id, tool);
      this.#hasChanged = true;
    } else if (event.type === 'connect') {
      this.#running.clear();
      this.#hasChanged = true;
    }
  }

  /** The line, if it has changed since the last call. */
  change(): Status | undefined {
    if (!this.#hasChanged) return undefined;
    this.#hasChanged = false;
    const next = this.#current();
    if (next === undefined || (next.text === this.#shown?.text && next.isDone === this.#shown.isDone)) return undefined;
    if (!next.isDone && this.#changes >= statusChanges) return undefined;
    this.#changes += 1;
    this.#shown = next;
    return next;
  }

  /** The last state of a line that still shows work in progress. */
  end(): Status | undefined {
    if (this.#shown === undefined || this.#shown.isDone) return undefined;
    const { text } = this.#shown;
    if (this.#isChoosing || this.#queued !== undefined) return { text, isDone: true, isHidden: true };
    return { text: this.#running.size > 0 ? `Stopped calling ${listed(this.#running.values())}` : text, isDone: true };
  }

  #begin(id: string, name: string): void {
    if (this.#running.size === 0 && this.#waiting.size === 0 && this.#connecting.size === 0) {
      this.#succeeded = [];
      this.#failed = new Map();
    }
    this.#isChoosing = false;
    this.#report = undefined;
    this.#running.set(id, name);
  }

  #settle({ id, tool: name, error }: DataOf<'tool.result'>): void {
    this.#running.delete(id);
    this.#waiting.delete(id);
    this.#connecting.delete(id);
    this.#report = undefined;
    if (error === undefined) this.#succeeded.push(name);
    else {
      const end = failures[error.code] ?? 'failed';
      this.#failed.set(end, [...(this.#failed.get(end) ?? []), name]);
    }
  }

  #noteRunEvent({ type, data }: RunEvent): void {
    const isNested = data.within !== undefined;
    // The call around a nested run shows what that run does.
    if (isNested && type !== 'approval.response' && type !== 'connect.response') return;
    if (type === 'queue') this.#queued = data.place > 0 ? data : undefined;
    else if (type === 'selection') this.#isChoosing &&= data.found.length > 0;
    else if (type === 'tool.call') this.#begin(data.id, data.tool);
    else if (type === 'tool.result') this.#settle(data);
    else if (type === 'tool.progress') {
      const count = (this.#reports.get(data.id) ?? 0) + 1;
      this.#reports.set(data.id, count);
      if (isRound(count)) this.#report = reportOf(data) ?? this.#report;
    } else if (type === 'approval.request') {
      this.#running.delete(data.id);
      this.#waiting.set(data.id, data.tool);
    } else if (type === 'approval.response') {
      this.#waiting.delete(data.id);
      if (data.decision === 'approve' && !isNested) this.#running.set(data.id, data.tool);
    } else if (type === 'connect.request') {
      this.#running.delete(data.id);
      this.#connecting.set(data.id, data.name);
    } else if (type === 'connect.response') {
      this.#connecting.delete(data.id);
      if (data.outcome === 'connected' && !isNested) this.#running.set(data.id, data.tool);
    } else return;
    this.#hasChanged = true;
  }

  #current(): Status | undefined {
    if (this.#queued !== undefined)
      return { text: `Waiting for ${this.#queued.model}: place ${this.#queued.place} in the queue`, isDone: false };
    if (this.#isChoosing) return { text: 'Choosing tools…', isDone: false };
    if (this.#running.size > 0) return { text: this.#report ?? `Calling ${listed(this.#running.values())}…`, isDone: false };
    if (this.#waiting.size > 0) return { text: `Waiting for approval of ${listed(this.#waiting.values())}`, isDone: false };
    if (this.#connecting.size > 0)
      return { text: `Waiting for you to connect to ${listed(new Set(this.#connecting.values()))}`, isDone: false };
    const ends = this.#succeeded.length === 0 ? [] : [`Called ${listed(this.#succeeded)}`];
    for (const [end, names] of this.#failed) ends.push(`${ends.length === 0 ? capitalized(end) : end}: ${listed(names)}`);
    if (ends.length > 0) return { text: ends.join('; '), isDone: true };
    return this.#shown && { ...this.#shown, isDone: true, isHidden: true };
  }
}

const failures: Readonly<Record<string, string>> = {
  approval_rejected: 'rejected',
  approval_expired: 'not approved in time',
  tool_cancelled: 'cancelled',
  tool_timeout: 'timed out',
};

/** Of the reports of one call, the first nine are shown, then every tenth, then every hundredth. */
function isRound(count: number): boolean {
  return count % 10 ** Math.floor(Math.log10(count)) === 0;
}

/** The most characters of a function's report on its progress. */
const reportCharacters = 200;

function reportOf({ tool: name, status = '', progress, total = 0 }: DataOf<'tool.progress'>): string | undefined {
  if (status !== '') return `${name}: ${status.slice(0, reportCharacters)}`;
  if (progress === undefined || total <= 0) return undefined;
  return `${name}: ${Math.round((progress / total) * 100)} %`;
}

const listedNames = 3;

/** Names as in a sentence, each of them once. */
function listed(names: Iterable<string>): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const words = [...counts].map(([name, count]) => (count === 1 ? name : `${name} (${count} times)`));
  const rest = words.length - listedNames;
  const named = rest > 1 ? [...words.slice(0, listedNames), `${rest} others`] : words;
  return named.length < 2 ? named.join('') : `${named.slice(0, -1).join(', ')} and ${named.at(-1)}`;
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
