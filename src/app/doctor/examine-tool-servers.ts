import pLimit from 'p-limit';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import { containerCure } from './container-loopback.ts';
import { broken, count, fact, note, ok, warning } from './finding.ts';
import type { Finding } from '../../core/finding.ts';
import { createMcpServers } from '../../tools/mcp/mcp-servers.ts';
import { openServer } from '../../tools/servers/open-registered-server.ts';
import { describeSkipped } from '../../tools/servers/opening-marks.ts';
import type { OpenedServer, Opening } from '../../tools/definitions/opened-server.ts';
import { version } from '../version.ts';

/** Servers that are examined at the same time: each may take megabytes for its document. */
const parallelServers = 4;
/** Omitted operations of one server that the report lists; there may be hundreds for one reason. */
const shownOmissions = 5;

/** Whether each registered server answers, and how its document was converted. */
export async function examineToolServers(
  { toolServers: records, skipped = new Map(), isUsed }: ExaminedRecords,
  { send, isContainer, signal, findRunning = async () => undefined }: ServerExamination,
): Promise<Finding[]> {
  if (records.length === 0) return [fact(isUsed ? 'none registered' : 'none configured: the bundled time server is there as `time`')];
  const limit = pLimit(parallelServers);
  // The doctor stores nothing.
  const facts = { readFact: async () => undefined, writeFact: async () => undefined };
  const mcp = createMcpServers({ send, facts, version, now: Date.now });
  const open: OpenServer = (record) =>
    openServer(record, send, { signal, isChecked: false, openMcp: (...request) => mcp.verify(...request) });
  const findings = await Promise.all(
    records.map((record) =>
      limit(async () => {
        if (signal.aborted) return [note(`${record.id}: not examined, because others took too long`)];
        const until = skipped.get(record.id);
        if (until !== undefined) return [broken(`${record.id}: ${describeSkipped(record.id, until)}`, 'Update or remove that server.')];
        const running = await findRunning(record);
        return running === undefined ? examineServer(record, open, isContainer ? send : undefined) : [running];
      }),
    ),
  );
  return findings.flat();
}

interface ExaminedRecords {
  toolServers: readonly ToolServerRecord[];
  /** Those that the gateway skips, and until when. */
  skipped?: ReadonlyMap<string, number>;
  isUsed: boolean;
}

interface ServerExamination {
  send: SendOutbound;
  isContainer: boolean;
  signal: AbortSignal;
  findRunning?: (record: ToolServerRecord) => Promise<Finding | undefined>;
}

const addressCure = 'Start it, or correct `url`, `path`, `key`; chats continue without its functions.';
const processCure = 'Correct `command`, `args` and `env` of its entry; chats continue without its functions.';

type OpenServer = (record: ToolServerRecord) => Promise<Opening>;

/** `sendInContainer`: undefined unless the doctor runs in a container. */
async function examineServer(record: ToolServerRecord, open: OpenServer, sendInContainer: SendOutbound | undefined): Promise<Finding[]> {
  const { id, url, isEnabled, origin, process: started } = record;
  if (!isEnabled) return [note(`${id}: disabled`)];
  if (origin === 'bundled') return [ok(`${id}: bundled, runs with the gateway`)];
  // `open` has its own time limit and never rejects.
  const opening = await open(record);
  if (opening.type === 'opened') return describeOpened(record, opening.server);
  const text = `${id} (${addressOf(record)}): ${opening.reason}`;
  if (opening.type === 'unsupported' && opening.needsCredential === true) return [note(text)];
  if (opening.type === 'unsupported') {
    const isUnreadable = Array.isArray(record.extra['unreadable_secrets']);
    const change = isUnreadable ? `Set them again: PATCH /api/tool-servers/${id} with new values` : 'Change its entry';
    return [broken(text, `${change}, or set "config": {"enable": false}.`)];
  }
  const isLocal = sendInContainer !== undefined && started === undefined;
  const inContainer = isLocal ? await containerCure({ url }, sendInContainer) : undefined;
  return [broken(text, inContainer ?? (started === undefined ? addressCure : processCure))];
}

function addressOf({ url, process: started }: ToolServerRecord): string {
  return started?.command ?? new URL(url).origin;
}

function describeOpened(record: ToolServerRecord, { functions, withheld, conversion }: OpenedServer): Finding[] {
  const { id, isDefault } = record;
  const { operations, omitted, warnings } = conversion;
  const name = `${id} (${addressOf(record)})`;
  const filtered = operations.length === functions.length ? '' : ` of ${operations.length}`;
  const use = isDefault ? '' : ', offered only where a request names it';
  const head =
    functions.length > 0
      ? ok(`${name}: ${count(functions.length, 'function')}${filtered}${use}`)
      : warning(`${name}: offers no function`, emptyCure(withheld));
  const shown = omitted.slice(0, shownOmissions).map(({ operation, reason }) => note(`${id}: ${operation} is left out: ${reason}`));
  const rest = omitted.length - shown.length;
  const more = rest > 0 ? [note(`${id}: ${rest} more left out`)] : [];
  return [head, ...shown, ...more, ...warnings.slice(0, shownOmissions).map((text) => note(`${id}: ${text}`))];
}

function emptyCure([first]: OpenedServer['withheld']): string {
  if (first === undefined) return 'Check that `path` leads to its OpenAPI document.';
  return `${first.operation} is withheld, for example: ${first.reason}.`;
}
