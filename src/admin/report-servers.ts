import pLimit from 'p-limit';
import { limits } from '../core/limits.ts';
import type { ToolServerRecord } from '../core/registry.ts';
import type { ToolServerReport, ToolServerInspector } from '../core/tool-server-report.ts';

/** Each may hold a document of megabytes while it is converted. */
const parallelLoads = 4;
/** A list of servers that are all down must not keep an administrator longer; they are loaded nevertheless. */
const listPatienceMs = 2 * limits.documentTimeoutMs;

/** Loads the server's document anew, unless it is disabled. A server that is down is a report, too. @throws the signal's reason */
export async function loadReport(inspector: ToolServerInspector, record: ToolServerRecord, signal: AbortSignal): Promise<ToolServerReport> {
  return record.isEnabled ? inspector.refresh(record, signal) : knownReport(inspector, record);
}

/** What is known without asking the server. */
export function knownReport(inspector: ToolServerInspector, record: ToolServerRecord): ToolServerReport {
  return inspector.reportOf(record) ?? emptyReport(record.isEnabled ? 'It has not been loaded yet.' : 'It is disabled and was not loaded.');
}

/** Loads those of which nothing good is known, and gives the reports of all, in order. @throws the signal's reason */
export async function loadReports(
  inspector: ToolServerInspector,
  records: readonly ToolServerRecord[],
  signal: AbortSignal,
): Promise<ToolServerReport[]> {
  const gate = pLimit(parallelLoads);
  const patience = AbortSignal.any([signal, AbortSignal.timeout(listPatienceMs)]);
  const load = async (record: ToolServerRecord): Promise<ToolServerReport> => {
    const known = knownReport(inspector, record);
    if (known.ok || patience.aborted) return known;
    return loadReport(inspector, record, patience).catch(() => knownReport(inspector, record));
  };
  const reports = await Promise.all(records.map((record) => gate(() => load(record))));
  signal.throwIfAborted();
  return reports;
}

function emptyReport(error: string): ToolServerReport {
  return { ok: false, error, functions: [], renamed: [], omitted: [], warnings: [], tokens: 0 };
}
