import { setImmediate as nextTick } from 'node:timers/promises';
import pLimit from 'p-limit';
import { limits } from '../core/limits.ts';
import type { ToolServerRecord } from '../core/stores/registry.ts';
import type { ToolServerReport, ToolServerInspector } from '../core/tools/tool-server-report.ts';

/** Documents that are loaded at the same time: each may take megabytes of memory. */
export const parallelLoads = 4;
/** Known reports that are read in one tick of the event loop: a few milliseconds. */
const knownPerTick = 50;
/** How long a list waits for its servers; loading goes on afterwards. */
const listTimeoutMs = 2 * limits.documentTimeoutMs;

/** Reloads the server's document, unless it is disabled. An unreachable server has a report too. @throws the signal's reason */
export async function loadReport(inspector: ToolServerInspector, record: ToolServerRecord, signal: AbortSignal): Promise<ToolServerReport> {
  return record.isEnabled ? inspector.refresh(record, signal) : knownReport(inspector, record);
}

/** The current report, without a request to the server. */
export function knownReport(inspector: ToolServerInspector, record: ToolServerRecord): ToolServerReport {
  return inspector.reportOf(record) ?? emptyReport(record.isEnabled ? 'It has not been loaded yet.' : 'It is disabled and was not loaded.');
}

/** Loads the servers that have not been loaded successfully, and returns the reports of all, in order. @throws the signal's reason */
export async function loadReports(
  inspector: ToolServerInspector,
  records: readonly ToolServerRecord[],
  signal: AbortSignal,
): Promise<ToolServerReport[]> {
  const limit = pLimit(parallelLoads);
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(listTimeoutMs)]);
  let knownCount = 0;
  const load = async (record: ToolServerRecord): Promise<ToolServerReport> => {
    const known = knownReport(inspector, record);
    if (known.ok || deadline.aborted) {
      knownCount += 1;
      if (knownCount % knownPerTick === 0) await nextTick();
      return known;
    }
    return loadReport(inspector, record, deadline).catch(() => knownReport(inspector, record));
  };
  const reports = await Promise.all(records.map((record) => limit(() => load(record))));
  signal.throwIfAborted();
  return reports;
}

function emptyReport(error: string): ToolServerReport {
  return { ok: false, error, functions: [], renamed: [], omitted: [], warnings: [], tokens: 0 };
}
