import type { Finding, Section } from '../../core/finding.ts';
import type { LessonMemory } from '../../core/models/model.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { Registry, ToolServerRecord } from '../../core/stores/registry.ts';
import type { CatalogBackend } from '../../models/catalog/catalog-backend.ts';
import type { ServerList } from '../../tools/servers/server-list.ts';
import type { Extensions } from '../compose/compose-extensions.ts';
import type { Config } from '../config/config.ts';
import { localUrl } from '../config/local-url.ts';
import { isInContainer } from './container-loopback.ts';
import { droppedUpgrade, type UpgradeWatch } from '../../core/upgrades.ts';
import { describeLoaded } from './examine-functions.ts';
import { examineGateway } from './examine-gateway.ts';
import { broken, count, note, ok, warning } from './finding.ts';

/** The parts of the gateway that serves. */
export interface ExaminedRunning {
  config: Config;
  registry: Registry;
  /** With session tokens. */
  send: SendOutbound;
  /** Default: those of the configuration. */
  backends: CatalogBackend[] | undefined;
  /** Settings without effect. */
  variables: readonly Finding[];
  servers: ServerList['states'];
  lessons: LessonMemory;
  loaded: Extensions['loaded'];
  /** Undefined until the gateway listens. */
  boundPort: () => number | undefined;
  upgrades: UpgradeWatch;
}

/** Examines the gateway that this process serves: with its own store, which stays open, and without starting anything twice. */
export function examineRunning(running: ExaminedRunning, signal: AbortSignal): Promise<Section[]> {
  const { config, registry, send, backends, variables, servers, lessons, loaded, boundPort, upgrades } = running;
  const url = localUrl({ host: config.host, port: boundPort() ?? config.port });
  return examineGateway({
    config,
    openRegistry: async () => ({ ...registry, close: async () => undefined }),
    send,
    sendToServers: send,
    backends,
    isContainer: isInContainer(),
    isServing: true,
    // The settings in force are listed by `GET /api/settings`.
    settings: { title: 'Settings', findings: [...variables] },
    examineAddress: async () => [
      ok(`Serves at ${url}`),
      ...(upgrades.isDropped ? [warning(droppedUpgrade.problem, droppedUpgrade.cure)] : []),
    ],
    examineFunctions: async () => describeLoaded(await loaded()),
    lessons,
    findRunning: (record) => describeProcess(record, servers),
    signal,
  });
}

/** An MCP server that this gateway has started itself. */
async function describeProcess(record: ToolServerRecord, servers: ServerList['states']): Promise<Finding | undefined> {
  const { id, isEnabled, process: started } = record;
  if (started === undefined || !isEnabled) return undefined;
  const name = `${id} (${started.command})`;
  const state = (await servers()).find((server) => server.id === id);
  if (state?.state === 'ok') return ok(`${name}: ${count(state.functions, 'function')}`);
  if (state?.error === undefined) return note(`${name}: not started yet`);
  return broken(
    `${name}: ${state.error}`,
    'Correct `command`, `args` and `env` of its entry; GET /api/tool-servers has the last lines it printed.',
  );
}
