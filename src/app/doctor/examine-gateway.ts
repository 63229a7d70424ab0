import type { Finding, Section } from '../../core/finding.ts';
import type { LessonMemory } from '../../core/models/model.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { Registry, ToolServerRecord } from '../../core/stores/registry.ts';
import { isLoopbackName } from '../../http/auth/open-mode.ts';
import type { CatalogBackend } from '../../models/catalog/catalog-backend.ts';
import { waitUnlessAborted } from '../../shared/async/wait-for.ts';
import { historyToolId } from '../../tools/catalog/history-tool.ts';
import type { Config } from '../config/config.ts';
import { weakAdminKey } from '../startup-warnings.ts';
import type { FunctionExamination } from './examine-functions.ts';
import { examineIssuer } from './examine-issuer.ts';
import { examineFolder, examineNode, examineOpenFiles, openFilesLimit } from './examine-machine.ts';
import { examineLessons } from './examine-lessons.ts';
import { examineModels } from './examine-models.ts';
import { examinePresets } from './examine-presets.ts';
import { examinePrograms } from './examine-programs.ts';
import { examineSignIn } from './examine-sign-in.ts';
import { examineStore } from './examine-store.ts';
import { examineToolServers } from './examine-tool-servers.ts';
import { ok, warning } from './finding.ts';

/** The parts that are examined, both in a running gateway and in one that does not run. */
export interface ExaminedParts {
  config: Config;
  openRegistry: (config: Config) => Promise<Registry>;
  send: SendOutbound;
  /** Adds session tokens, where tool servers use them. */
  sendToServers: SendOutbound;
  /** Default: those of the configuration. */
  backends?: CatalogBackend[] | undefined;
  isContainer: boolean;
  /** The gateway serves from its data folder now. */
  isServing: boolean;
  /** Findings about the settings, and their title. */
  settings: Section;
  /** The address that it listens on. */
  examineAddress: () => Promise<Finding[]>;
  examineFunctions: () => Promise<FunctionExamination>;
  /** Lessons that the running gateway has learned from rejections by backends. */
  lessons?: LessonMemory;
  /** What a server whose process runs already does, so that it is not started twice. */
  findRunning?: (record: ToolServerRecord) => Promise<Finding | undefined>;
  /** Ends the examination; what has not answered by then is a finding. */
  signal: AbortSignal;
}

/** Examines everything that the gateway uses, with the gateway's own modules, and changes nothing. */
export async function examineGateway(parts: ExaminedParts): Promise<Section[]> {
  const { config, send, isServing, signal } = parts;
  const inTime = createPatience(signal);
  const nothing = {
    toolServers: config.toolServers,
    skipped: new Map<string, number>(),
    keys: 0,
    isUsed: true,
    presets: config.presets,
    backends: config.backends,
  };
  const store = await inTime('The database', examineStore(config, parts.openRegistry), (late) => ({ ...nothing, findings: [late] }));
  const [folder, address, issuer, signIn, models, toolServers, functions] = await Promise.all([
    inTime('The data folder', examineFolder(config.dataDir, { isServing }), (late) => late),
    inTime('The address', parts.examineAddress(), (late) => [late]),
    inTime('auth.oidc', examineIssuer(config.oidc, send), (late) => [late]),
    inTime('Signing in', examineSignIn(config, send), (late) => [late]),
    inTime('The models', examineModels({ ...parts, entries: store.backends }), (late) => ({ findings: [late], ids: undefined })),
    inTime('Some tool servers', examineToolServers(store, { ...parts, send: parts.sendToServers }), (late) => [late]),
    inTime('The functions', parts.examineFunctions(), (late) => ({ findings: [late], functions: undefined })),
  ]);
  const known = {
    models: models.ids,
    toolServers: store.toolServers,
    functions: functions.functions,
    ownTools: config.storeChats ? [historyToolId] : [],
  };
  const files = examineOpenFiles(openFilesLimit(), config.maxConnectionsPerOrigin);
  const presets = await examinePresets(store.presets, known);
  return [
    { title: 'This machine', findings: [examineNode(process.versions.node), ...files, folder, ...address] },
    { title: 'Access', findings: [examineAccess(config, store.keys), ...issuer, ...signIn, ...examinePrograms(config)] },
    parts.settings,
    { title: 'Models', findings: [...models.findings, ...examineLessons(parts.lessons)] },
    { title: 'Tool servers', findings: [...store.findings, ...toolServers] },
    { title: 'Functions and hooks', findings: functions.findings },
    { title: 'Presets', findings: presets },
  ].filter(({ findings }) => findings.length > 0);
}

type InTime = <Value, Late>(what: string, work: Promise<Value>, giveUp: (late: Finding) => Late) => Promise<Value | Late>;

/** A disk or a server that does not answer keeps back no other finding. */
function createPatience(signal: AbortSignal): InTime {
  return (what, work, giveUp) =>
    waitUnlessAborted(work, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
      return giveUp(
        warning(`${what}: not examined, because the examination took too long`, 'Fix the other findings first, then try again.'),
      );
    });
}

function examineAccess(config: Config, keys: number): Finding {
  const weak = weakAdminKey(config);
  if (weak !== undefined) return warning(weak.problem, weak.cure);
  if (config.adminKey !== undefined) return ok('A key is needed: TOOLWHARF_ADMIN_KEY is set');
  if (keys > 0) return ok(`A key is needed: ${keys} ${keys === 1 ? 'is' : 'are'} stored`);
  if (config.oidc !== undefined)
    return ok(
      `A key or a token of ${config.oidc.issuer} is needed; no key is stored yet: the start makes an administrator key and prints it once`,
    );
  if (isLoopbackName(config.host))
    return ok(
      `Open to this machine: chats need no key, and changes need the one that the start prints; ${config.host} cannot be reached from elsewhere`,
    );
  return warning(
    `${config.host} can be reached from elsewhere and no key is configured: the start makes an administrator key and prints it once`,
    'Note that key, or set TOOLWHARF_ADMIN_KEY, for example to the output of `openssl rand -hex 24`.',
  );
}
