import pLimit from 'p-limit';
import type { ToolServerReport, ToolServerInspector } from '../core/tool-server-report.ts';
import type { ToolServerAdmin } from './tool-server-admin.ts';

export interface TitleSources {
  desk: Pick<ToolServerAdmin, 'findUnnamed'>;
  inspector: Pick<ToolServerInspector, 'verify'>;
}

/** Each may hold a document of megabytes while it is converted. */
const parallelLoads = 4;

/**
 * The title of the server's own document, for a new connection without an id. Undefined where nothing needs it, and for a server that cannot be read:
 * then the id is made from the URL. @throws the signal's reason
 */
export async function findDocumentTitle(
  { desk, inspector }: TitleSources,
  value: unknown,
  signal: AbortSignal,
): Promise<string | undefined> {
  const record = await desk.findUnnamed(value);
  return record === undefined ? undefined : titleIn(await inspector.verify(record, signal));
}

/** The same for a list, by index. */
export async function findDocumentTitles(sources: TitleSources, values: unknown, signal: AbortSignal): Promise<Map<number, string>> {
  const gate = pLimit(parallelLoads);
  const entries = Array.isArray(values) ? values : [];
  const titles = await Promise.all(entries.map((value: unknown) => gate(() => findDocumentTitle(sources, value, signal))));
  return new Map(titles.flatMap((title, index) => (title === undefined ? [] : [[index, title] as const])));
}

function titleIn({ info }: ToolServerReport): string | undefined {
  const title = info?.['title'];
  return typeof title === 'string' ? title : undefined;
}
