import type { ChatEvent } from '../../../core/chat/chat.ts';
import type { DataOf, RunEvent } from '../../../core/runs/run-event.ts';

/** Lines about what an answer is doing, for Open WebUI, which stores each with its message and writes the whole message anew. */
const statusChanges = 100;

/** One state of a status line. `isDone`: no work is in progress any more. A hidden line is not shown. */
export interface Status {
  text: string;
  isDone: boolean;
  isHidden?: true;
}

/** One line, in plain words, about what a run does besides writing. */
interface StatusLine {
  note(event: ChatEvent): void;
  /** The line, if it has changed since it was last asked for. */
  change(): Status | undefined;
  /** The last state of a line that still shows work in progress. */
  end(): Status | undefined;
}

export function createStatusLine(): StatusLine {
  /** Names of functions by the ids of their calls. */
  const running = new Map<string, string>();
  const waiting = new Map<string, string>();
  /** Names of servers by the ids of the calls that need their user to connect. */
  const connecting = new Map<string, string>();
  let succeeded: string[] = [];
  /** Names of functions by the way in which they failed. */
  let failed = new Map<string, string[]>();
  const reports = new Map<string, number>();
  let report: string | undefined;
  let isChoosing = false;
  let hasChanged = false;
  let shown: Status | undefined;
  let changes = 0;

  function begin(id: string, name: string): void {
    if (running.size === 0 && waiting.size === 0 && connecting.size === 0) {
      succeeded = [];
      failed = new Map();
    }
    isChoosing = false;
    report = undefined;
    running.set(id, name);
  }

  function settle({ id, tool: name, error }: DataOf<'tool.result'>): void {
    running.delete(id);
    waiting.delete(id);
    connecting.delete(id);
    report = undefined;
    if (error === undefined) succeeded.push(name);
    else {
      const end = failures[error.code] ?? 'failed';
      failed.set(end, [...(failed.get(end) ?? []), name]);
    }
  }

  function noteRunEvent({ type, data }: RunEvent): void {
    const isNested = data.within !== undefined;
    // The call around a nested run reports what that run does.
    if (isNested && type !== 'approval.response' && type !== 'connect.response') return;
    if (type === 'selection') isChoosing &&= data.found.length > 0;
    else if (type === 'tool.call') begin(data.id, data.tool);
    else if (type === 'tool.result') settle(data);
    else if (type === 'tool.progress') {
      const count = (reports.get(data.id) ?? 0) + 1;
      reports.set(data.id, count);
      if (isRound(count)) report = reportOf(data) ?? report;
    } else if (type === 'approval.request') {
      running.delete(data.id);
      waiting.set(data.id, data.tool);
    } else if (type === 'approval.response') {
      waiting.delete(data.id);
      if (data.decision === 'approve' && !isNested) running.set(data.id, data.tool);
    } else if (type === 'connect.request') {
      running.delete(data.id);
      connecting.set(data.id, data.name);
    } else if (type === 'connect.response') {
      connecting.delete(data.id);
      if (data.outcome === 'connected' && !isNested) running.set(data.id, data.tool);
    } else return;
    hasChanged = true;
  }

  function current(): Status | undefined {
    if (isChoosing) return { text: 'Choosing tools…', isDone: false };
    if (running.size > 0) return { text: report ?? `Calling ${listed(running.values())}…`, isDone: false };
    if (waiting.size > 0) return { text: `Waiting for approval of ${listed(waiting.values())}`, isDone: false };
    if (connecting.size > 0) return { text: `Waiting for you to connect to ${listed(new Set(connecting.values()))}`, isDone: false };
    const ends = succeeded.length === 0 ? [] : [`Called ${listed(succeeded)}`];
    for (const [end, names] of failed) ends.push(`${ends.length === 0 ? capitalized(end) : end}: ${listed(names)}`);
    if (ends.length > 0) return { text: ends.join('; '), isDone: true };
    return shown && { ...shown, isDone: true, isHidden: true };
  }

  return {
    note(event) {
      if (event.type === 'run-event') noteRunEvent(event.event);
      else if (event.type === 'selecting') {
        isChoosing = true;
        hasChanged = true;
      } else if (event.type === 'approval') {
        // Calls after those that wait for approval wait with them, as do calls around them.
        running.clear();
        for (const { id, tool } of event.approval.calls) waiting.set(id, tool);
        hasChanged = true;
      } else if (event.type === 'connect') {
        running.clear();
        hasChanged = true;
      }
    },
    change() {
      if (!hasChanged) return undefined;
      hasChanged = false;
      const next = current();
      if (next === undefined || (next.text === shown?.text && next.isDone === shown.isDone)) return undefined;
      if (!next.isDone && changes >= statusChanges) return undefined;
      changes += 1;
      shown = next;
      return next;
    },
    end() {
      if (shown === undefined || shown.isDone) return undefined;
      const { text } = shown;
      if (isChoosing) return { text, isDone: true, isHidden: true };
      return { text: running.size > 0 ? `Stopped calling ${listed(running.values())}` : text, isDone: true };
    },
  };
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
