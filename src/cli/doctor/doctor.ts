import { addEnvFile, readConfig, readConfigFile, readTextFile } from '../../app/config/config.ts';
import type { Config, ReadFile } from '../../app/config/config.ts';
import { sections } from '../../app/config/config-file.ts';
import { findUnknownVariables, listSettings } from '../../app/config/read-settings.ts';
import { nameInFile } from '../../app/config/settings.ts';
import { isJsonObject } from '../../shared/json.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { Registry } from '../../core/registry.ts';
import { isInContainer } from './container-loopback.ts';
import { examineFolder, examineNode, examinePort } from './examine-machine.ts';
import { countBroken, fact, ok, toReport, warning } from './finding.ts';
import type { Finding, Section } from './finding.ts';
import { examineFunctions } from './examine-functions.ts';
import { examineIssuer } from './examine-issuer.ts';
import { examineModels } from './examine-models.ts';
import { examinePresets } from './examine-presets.ts';
import { examineStore, openStored } from './examine-store.ts';
import { examineToolServers } from './examine-tool-servers.ts';
import { localUrl } from '../../app/config/local-url.ts';
import { getLocally } from '../healthcheck.ts';
import { isLoopbackName } from '../../http/auth/authenticate.ts';
import { guardUserCode } from '../guard-user-code.ts';
import { databaseFile } from '../../storage/sqlite/open-database.ts';
import { findSecret } from '../../storage/secrets/secret-file.ts';
import { requireAnsweringDisks } from '../../storage/require-answering-disks.ts';
import { createOutbound } from '../../policy/outbound/outbound-request.ts';
import { createSessionTokens, withSessionTokens } from '../../policy/session-tokens.ts';
import type { ImportModule } from '../../tools/functions/load/load-module.ts';
import { version } from '../../app/version.ts';

/** What tests replace. */
export interface DoctorParts {
  readFile: ReadFile;
  /** Default: the stored records, read-only, with those of the environment and the file in front. */
  openRegistry?: (config: Config) => Promise<Registry>;
  isContainer?: boolean;
  importModule?: ImportModule;
}

/**
 * Prints the effective configuration and all problems, then ends the process, because a module of functions may have started something that never ends.
 * Exit code 1 if something is broken. @throws ConfigError for an invalid setting, GatewayError for a data folder that does not answer
 */
export async function doctor(environment: NodeJS.ProcessEnv): Promise<void> {
  const leftBehind: Finding[] = [];
  addEnvFile(environment, readTextFile);
  const config = readConfig(environment, readTextFile);
  await requireAnsweringDisks({ dataDir: config.dataDir, databaseFile: databaseFile(config.databaseUrl) });
  // As in the gateway: an unhandled rejection or exception of a module must not end the process.
  guardUserCode(config, {
    error: ({ err, module = 'a module' }, message) => void leftBehind.push(warning(`${module} leaves behind: ${String(err)}`, message)),
  });
  const examined = await examineGateway(environment, { readFile: readTextFile });
  const sections = leftBehind.length === 0 ? examined : [...examined, { title: 'Code of your own', findings: leftBehind }];
  const text = `toolwharf ${version}: what is in force, and what is wrong\n\n${toReport(sections)}`;
  process.stdout.write(text, () => process.exit(countBroken(sections) > 0 ? 1 : 0));
}

/** Adds session tokens to requests, as the gateway does. Tool servers can fetch the public key only while the gateway runs. */
function withTokens(config: Config, send: SendOutbound): SendOutbound {
  const secret = findSecret(config.dataDir, config.secret);
  if (secret === undefined) return send;
  const issuer = (): string => config.publicUrl ?? localUrl(config);
  return withSessionTokens(send, createSessionTokens({ secret, issuer, now: Date.now }));
}

/** Examines everything that the gateway would use, with the gateway's own modules, and changes nothing. */
export async function examineGateway(environment: NodeJS.ProcessEnv, parts: DoctorParts): Promise<Section[]> {
  const config = readConfig(environment, parts.readFile);
  const { openRegistry = openStored, isContainer = isInContainer() } = parts;
  const outbound = createOutbound({ egress: config.egress });
  try {
    const store = await examineStore(config, openRegistry);
    const [folder, port, issuer, models, toolServers, functions] = await Promise.all([
      examineFolder(config.dataDir),
      examinePort(config, () => isGateway(config, outbound.send)),
      examineIssuer(config.oidc, outbound.send),
      examineModels(config, outbound.send, isContainer),
      examineToolServers(store, withTokens(config, outbound.send), isContainer),
      examineFunctions(config, parts.importModule),
    ]);
    const known = { models: models.ids, toolServers: store.toolServers, functions: functions.functions };
    const presets = await examinePresets(store.presets, known);
    return [
      { title: 'This machine', findings: [examineNode(process.versions.node), folder, port] },
      { title: 'Access', findings: [examineAccess(config, store.keys), ...issuer] },
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

/** `/ready` needs no key, and no other program answers it with these two lists. */
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

function examineSettings(environment: NodeJS.ProcessEnv, readFile: ReadFile): Finding[] {
  const file = readConfigFile(environment, readFile);
  const changed = listSettings(environment, file).flatMap(({ name, origin, value }) => {
    if (origin === 'default') return [];
    return [fact(`${origin === 'environment' ? name : `${nameInFile(name)} in ${file?.path}`} = ${value}`)];
  });
  const present = sections.filter((name) => file?.entries[name] !== undefined);
  const fromFile = present.length === 0 ? [] : [fact(`${file?.path} holds ${present.join(', ')}`)];
  const unknown = findUnknownVariables(environment).map((name) =>
    warning(`${name} is no setting and has no effect`, 'Correct its name; docs/configuration.md lists them all.'),
  );
  const findings = [...changed, ...fromFile, ...unknown];
  return findings.length === 0 ? [fact('none')] : findings;
}
