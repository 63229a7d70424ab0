import { addEnvFile, readConfig, readConfigFile } from '../../app/config/config.ts';
import type { Config, ReadFile } from '../../app/config/config.ts';
import { describeSettings, findUnknownVariables } from '../../app/config/describe-settings.ts';
import { readTextFile } from '../../app/config/read-text-file.ts';
import { isJsonObject } from '../../shared/json.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { Registry } from '../../core/registry.ts';
import { examineFolder, examineNode, examinePort, isInContainer } from './examine-machine.ts';
import { countBroken, toReport } from './finding.ts';
import type { Finding, Section } from './finding.ts';
import { examineFunctions } from './examine-functions.ts';
import { examineModels } from './examine-models.ts';
import { examinePresets } from './examine-presets.ts';
import { examineStore, openStored } from './examine-store.ts';
import { examineToolServers } from './examine-tool-servers.ts';
import { getLocally, localUrl } from '../healthcheck.ts';
import { isLoopbackName } from '../../http/auth/authenticate.ts';
import { guardUserCode } from '../../app/guard-user-code.ts';
import { databaseFile } from '../../storage/sqlite/open-database.ts';
import { findSecret } from '../../storage/secrets/secret-file.ts';
import { requireAnsweringStorage } from '../../storage/require-storage.ts';
import { createOutbound } from '../../policy/outbound-request.ts';
import { createSessionTokens, withSessionTokens } from '../../policy/session-tokens.ts';
import type { ImportModule } from '../../tools/functions/load/load-module.ts';
import { version } from '../../app/version.ts';

/** What tests replace. */
export interface DoctorParts {
  readFile: ReadFile;
  /** Default: what is stored, behind what the environment and the file hold, for a look only. */
  openRegistry?: (config: Config) => Promise<Registry>;
  isContainer?: boolean;
  importModule?: ImportModule;
}

/**
 * Prints what is in force and what is wrong, and ends the process: a module of functions may have begun something that never ends. Exit code 1 when
 * something is broken. @throws ConfigError for a wrong setting, GatewayError for a data folder that does not answer
 */
export async function doctor(environment: NodeJS.ProcessEnv): Promise<void> {
  const left: Finding[] = [];
  addEnvFile(environment, readTextFile);
  const config = readConfig(environment, readTextFile);
  await requireAnsweringStorage({ dataDir: config.dataDir, databaseFile: databaseFile(config.databaseUrl) });
  // As in the gateway: what a module leaves behind must not take the report away.
  guardUserCode(config, {
    error: ({ err, module = 'a module' }, message) =>
      void left.push({ level: 'warning', text: `${module} leaves behind: ${String(err)}`, cure: message }),
  });
  const examined = await examineGateway(environment, { readFile: readTextFile });
  const sections = left.length === 0 ? examined : [...examined, { title: 'Code of your own', findings: left }];
  const text = `toolwharf ${version}: what is in force, and what is wrong\n\n${toReport(sections)}`;
  process.stdout.write(text, () => process.exit(countBroken(sections) > 0 ? 1 : 0));
}

/** As the gateway asks tool servers with `auth_type: "session"`; they fetch its key only while it runs. */
function withTokens(config: Config, send: SendOutbound): SendOutbound {
  const secret = findSecret(config.dataDir, config.secret);
  if (secret === undefined) return send;
  const issuer = (): string => config.publicUrl ?? localUrl(config);
  return withSessionTokens(send, createSessionTokens({ secret, issuer, now: Date.now }));
}

/** Looks at everything the gateway would use, with the modules that serve chats, and changes nothing. */
export async function examineGateway(environment: NodeJS.ProcessEnv, parts: DoctorParts): Promise<Section[]> {
  const config = readConfig(environment, parts.readFile);
  const { openRegistry = openStored, isContainer = isInContainer() } = parts;
  const outbound = createOutbound({ egress: config.egress });
  try {
    const store = await examineStore(config, openRegistry);
    const [folder, port, models, toolServers, functions] = await Promise.all([
      examineFolder(config.dataDir),
      examinePort(config, () => isGateway(config, outbound.send)),
      examineModels(config, outbound.send, isContainer),
      examineToolServers(store, withTokens(config, outbound.send), isContainer),
      examineFunctions(config, parts.importModule),
    ]);
    const known = { models: models.ids, toolServers: store.toolServers, shelf: functions.shelf };
    const presets = await examinePresets(store.presets, known);
    return [
      { title: 'This machine', findings: [examineNode(process.versions.node), folder, port] },
      { title: 'Access', findings: [examineAccess(config, store.keys)] },
      {
        title: 'Settings that differ from their defaults (docs/configuration.md lists them all)',
        findings: examineSettings(environment, parts.readFile),
      },
      { title: 'Models', findings: models.findings },
      { title: 'Tool servers', findings: [...store.findings, ...toolServers] },
      { title: 'Functions and hooks', findings: functions.findings },
      { title: 'Presets', findings: presets },
    ].filter(({ findings }) => findings.length > 0);
  } finally {
    await outbound.close();
  }
}

/** `/ready` needs no key, and nobody else's has these two lists. */
async function isGateway(config: Config, send: SendOutbound): Promise<boolean> {
  try {
    const { text } = await getLocally(`${localUrl(config)}/ready`, send);
    const answer: unknown = JSON.parse(text);
    return isJsonObject(answer) && Array.isArray(answer['backends']) && Array.isArray(answer['tool_servers']);
  } catch {
    return false;
  }
}

function examineAccess(config: Config, keys: number): Finding {
  if (config.adminKey !== undefined) return { level: 'ok', text: 'A key is needed: TOOLWHARF_ADMIN_KEY is set' };
  if (keys > 0) return { level: 'ok', text: `A key is needed: ${keys} ${keys === 1 ? 'is' : 'are'} stored` };
  if (isLoopbackName(config.host))
    return {
      level: 'ok',
      text: `Open to this machine: chats need no key, changes that of each start; ${config.host} cannot be reached from elsewhere`,
    };
  return {
    level: 'warning',
    text: `${config.host} can be reached from elsewhere and no key is configured: the start makes an administrator key and prints it once`,
    cure: 'Note that key, or set TOOLWHARF_ADMIN_KEY, for example to the output of `openssl rand -hex 24`.',
  };
}

function examineSettings(environment: NodeJS.ProcessEnv, readFile: ReadFile): Finding[] {
  const file = readConfigFile(environment, readFile);
  const inForce = describeSettings(environment, file).map(({ name, place, shown }): Finding => {
    return { level: 'fact', text: `${place === 'environment' ? name : `${name.toLowerCase()} in ${file?.path ?? 'the file'}`} = ${shown}` };
  });
  const sections = ['backends', 'tool_servers', 'models', 'toolsets', 'hooks', 'tools_dir'].filter(
    (name) => file?.entries[name] !== undefined,
  );
  const unknown = findUnknownVariables(environment).map((name): Finding => ({
    level: 'warning',
    text: `${name} is no setting and has no effect`,
    cure: 'Correct its name; docs/configuration.md lists them all.',
  }));
  const fromFile: Finding[] =
    sections.length === 0 ? [] : [{ level: 'fact', text: `${file?.path ?? 'the file'} holds ${sections.join(', ')}` }];
  const findings = [...inForce, ...fromFile, ...unknown];
  return findings.length === 0 ? [{ level: 'fact', text: 'none' }] : findings;
}
