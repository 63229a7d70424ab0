import pLimit from 'p-limit';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import { loopbackInContainer } from './examine-machine.ts';
import { count } from './finding.ts';
import type { Finding } from './finding.ts';
import { isContainerLoopback } from '../../app/is-container-loopback.ts';
import { createMcpServers } from '../../tools/mcp/mcp-servers.ts';
import { openServer } from '../../tools/servers/open-registered-server.ts';
import type { OpenedServer, Opening } from '../../tools/servers/open-registered-server.ts';
import { version } from '../../app/version.ts';

/** Each may hold a document of megabytes while it is converted. */
const parallelServers = 4;
/** Of one server; a document may leave out hundreds of operations for one reason. */
const shownOmissions = 5;

/** Whether each registered server answers, and what became of its document. */
export async function examineToolServers(
  { toolServers: records, isUsed }: { toolServers: readonly ToolServerRecord[]; isUsed: boolean },
  send: SendOutbound,
  isContainer: boolean,
): Promise<Finding[]> {
  if (records.length === 0)
    return [{ level: 'fact', text: isUsed ? 'none registered' : 'none configured: the bundled time server is there as `time`' }];
  const limit = pLimit(parallelServers);
  // A look remembers nothing.
  const facts = { readFact: async () => undefined, writeFact: async () => undefined };
  const mcp = createMcpServers({ send, facts, version, onListChanged: () => undefined, onProcessEnded: () => undefined });
  const open: OpenServer = (record, signal) =>
    openServer(record, send, { signal, isChecked: false, openMcp: (...asked) => mcp.verify(...asked) });
  const findings = await Promise.all(records.map((record) => limit(() => examineServer(record, open, isContainer ? send : undefined))));
  return findings.flat();
}

type OpenServer = (record: ToolServerRecord, signal: AbortSignal) => Promise<Opening>;

/** `sendInContainer` is there inside of one. */
async function examineServer(record: ToolServerRecord, open: OpenServer, sendInContainer: SendOutbound | undefined): Promise<Finding[]> {
  const { id, url, isEnabled, origin, process: started } = record;
  if (!isEnabled) return [{ level: 'note', text: `${id}: disabled` }];
  if (origin === 'bundled') return [{ level: 'ok', text: `${id}: bundled, runs with the gateway` }];
  // Its document is given ten seconds by the module itself, which never rejects.
  const opening = await open(record, new AbortController().signal);
  if (opening.type === 'opened') return describeOpened(record, opening.server);
  const text = `${id} (${placeOf(record)}): ${opening.reason}`;
  if (opening.type === 'unsupported') {
    const isUnreadable = Array.isArray(record.extra['unreadable_secrets']);
    const change = isUnreadable ? `Give them anew: PATCH /api/tool-servers/${id} with new values` : 'Change its entry';
    return [{ level: 'broken', text, cure: `${change}, or set "config": {"enable": false}.` }];
  }
  const isLost = sendInContainer !== undefined && started === undefined && (await isContainerLoopback(url, sendInContainer));
  const cure = isLost ? loopbackInContainer(url) : 'Start it, or correct `url`, `path`, `key`; chats go on without its functions.';
  return [{ level: 'broken', text, cure }];
}

function placeOf({ url, process: started }: ToolServerRecord): string {
  return started?.command ?? new URL(url).origin;
}

function describeOpened(record: ToolServerRecord, { functions, withheld, conversion }: OpenedServer): Finding[] {
  const { id, isDefault } = record;
  const { operations, omitted, warnings } = conversion;
  const name = `${id} (${placeOf(record)})`;
  const filtered = operations.length === functions.length ? '' : ` of ${operations.length}`;
  const use = isDefault ? '' : ', offered only where a request names it';
  const head: Finding =
    functions.length > 0
      ? { level: 'ok', text: `${name}: ${count(functions.length, 'function')}${filtered}${use}` }
      : { level: 'warning', text: `${name}: offers no function`, cure: emptyCure(withheld) };
  const shown = omitted
    .slice(0, shownOmissions)
    .map(({ operation, reason }): Finding => ({ level: 'note', text: `${id}: ${operation} is left out: ${reason}` }));
  const rest = omitted.length - shown.length;
  const more: Finding[] = rest > 0 ? [{ level: 'note', text: `${id}: ${rest} more left out` }] : [];
  const remarks = warnings.slice(0, shownOmissions).map((text): Finding => ({ level: 'note', text: `${id}: ${text}` }));
  return [head, ...shown, ...more, ...remarks];
}

function emptyCure([first]: OpenedServer['withheld']): string {
  if (first === undefined) return 'Check that `path` leads to its OpenAPI document.';
  return `${first.operation} is one of those withheld: ${first.reason}.`;
}
