import pLimit from 'p-limit';
import { limits } from '../core/limits.ts';
import type { ToolServerRecord } from '../core/registry.ts';
import type { ToolServerReport, ToolServerInspector } from '../core/tool-server-report.ts';

/** Each may hold a document of megabytes while it is converted. */
export const parallelLoads = 4;
/** An administrator does not wait longer for a list of servers that are all down; they are loaded nevertheless. */
const listTimeoutMs = 2 * limits.documentTimeoutMs;

/** Loads the server's document anew, unless it is disabled. A server that is down is a report, too. @throws the signal's reason */
export async function loadReport(inspector: ToolServerInspector, record: ToolServerRecord, signal: AbortSignal): Promise<ToolServerReport> {
  return record.isEnabled ? inspector.refresh(record, signal) : knownReport(inspector, record);
}

/** What is known without a request to the server. */
export function knownReport(inspector: ToolServerInspector, record: ToolServerRecord): ToolServerReport {
  return inspector.reportOf(record) ?? emptyReport(record.isEnabled ? 'It has not been loaded yet.' : 'It is disabled and was not loaded.');
}

/** Loads those that have not been loaded successfully, and gives the reports of all, in order. @throws the signal's reason */
export async function loadReports(
  inspector: ToolServerInspector,
  records: readonly ToolServerRecord[],
  signal: AbortSignal,
): Promise<ToolServerReport[]> {
  const limit = pLimit(parallelLoads);
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(listTimeoutMs)]);
  const load = async (record: ToolServerRecord): Promise<ToolServerReport> => {
    const known = knownReport(inspector, record);
    if (known.ok || deadline.aborted) return known;
    return loadReport(inspector, record, deadline).catch(() => knownReport(inspector, record));
  };
  const reports = await Promise.all(records.map((record) => limit(() => load(record))));
  signal.throwIfAborted();
  return reports;
}

function emptyReport(error: string): ToolServerReport {
  return { ok: false, error, functions: [], renamed: [], omitted: [], warnings: [], tokens: 0 };
}
