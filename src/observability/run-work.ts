import { limits } from '../core/limits.ts';
import type { LoggedEvent, RunWork } from '../core/runs/run-log.ts';
import { isJsonObject, type JsonValue } from '../shared/json/json.ts';

/** The most of a name or a message in the list of runs, which is read often and has short lines. */
const maxCharacters = 300;

export function emptyWork(): RunWork {
  return { modelRequests: 0, calls: 0, failedCalls: 0, tools: [], servers: [] };
}

/** Counts an event of the run. `work` is changed. */
export function noteWork(work: RunWork, { type, data }: Pick<LoggedEvent, 'type' | 'data'>, time: number): void {
  const tool = data['tool'] === undefined ? undefined : textIn(data['tool']);
  work.last = { type, time, ...(tool !== undefined && { tool }) };
  if (type === 'model.request') work.modelRequests += 1;
  else if (type === 'tool.call') {
    work.calls += 1;
    addName(work.tools, tool);
    addName(work.servers, textIn(data['server']));
  } else if (type === 'tool.result' && data['error'] !== undefined) work.failedCalls += 1;
  else if (type === 'run.end' && isJsonObject(data['error'])) {
    const { code, message } = data['error'];
    work.error = { code: textIn(code) ?? '', message: textIn(message) ?? '' };
  }
}

function addName(names: string[], name: string | undefined): void {
  if (name !== undefined && names.length < limits.listedNames && !names.includes(name)) names.push(name);
}

function textIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value.slice(0, maxCharacters).toWellFormed() : undefined;
}
