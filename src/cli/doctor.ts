import { addEnvFile, readConfig, readConfigFile, readTextFile, type Config, type ReadFile } from '../app/config/config.ts';
import { sections } from '../app/config/config-file.ts';
import { localUrl } from '../app/config/local-url.ts';
import { listSettings } from '../app/config/read-settings.ts';
import { findUnknownVariables } from '../app/config/unknown-variables.ts';
import { nameInFile } from '../app/config/settings.ts';
import { isInContainer } from '../app/doctor/container-loopback.ts';
import { examineFunctions } from '../app/doctor/examine-functions.ts';
import { examineGateway } from '../app/doctor/examine-gateway.ts';
import { examinePort } from '../app/doctor/examine-machine.ts';
import { openStored } from '../app/doctor/examine-store.ts';
import { countBroken, fact, toReport, unknownVariable, warning } from '../app/doctor/finding.ts';
import { getLocally } from '../app/get-locally.ts';
import { version } from '../app/version.ts';
import type { Finding, Section } from '../core/finding.ts';
import type { SendOutbound } from '../core/outbound.ts';
import type { Registry } from '../core/stores/registry.ts';
import { createOutbound } from '../policy/outbound/outbound-request.ts';
import { createSessionTokens, withSessionTokens } from '../policy/session-tokens.ts';
import { isJsonObject } from '../shared/json/json.ts';
import { requireAnsweringDisks } from '../storage/require-answering-disks.ts';
import { findSecret } from '../storage/secrets/secret-file.ts';
import { databaseFile } from '../storage/sqlite/connection/open-database.ts';
import type { ImportModule } from '../tools/functions/load/load-module.ts';
import { guardProcess } from './guard-process.ts';

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
  if (config.databaseUrl.startsWith('sqlite:'))
    await requireAnsweringDisks({ dataDir: config.dataDir, databaseFile: databaseFile(config.databaseUrl) });
  // As in the gateway: an unhandled rejection or exception of a module must not end the process.
  guardProcess(config, {
    error: ({ err, connection = 'a module', module = connection }, message) =>
      void leftBehind.push(warning(`${module} leaves behind: ${String(err)}`, message)),
  });
  const examined = await examineInstallation(environment, { readFile: readTextFile });
  const sections = leftBehind.length === 0 ? examined : [...examined, { title: 'Code of your own', findings: leftBehind }];
  const text = `toolwharf ${version}: what is in force, and what is wrong\n\n${toReport(sections)}`;
  process.stdout.write(text, () => process.exit(countBroken(sections) > 0 ? 1 : 0));
}

/** Examines what a gateway with this environment would use, whether it runs or not. @throws ConfigError */
export async function examineInstallation(environment: NodeJS.ProcessEnv, parts: DoctorParts): Promise<Section[]> {
  const config = readConfig(environment, parts.readFile);
  const { openRegistry = openStored, isContainer = isInContainer() } = parts;
  const outbound = createOutbound({ egress: config.egress });
  try {
    return await examineGateway({
      config,
      openRegistry,
      send: outbound.send,
      sendToServers: withTokens(config, outbound.send),
      isContainer,
      isServing: false,
      settings: {
        title: 'Settings that differ from their defaults (docs/configuration.md lists them all)',
        findings: examineSettings(environment, parts.readFile),
      },
      examineAddress: async () => [await examinePort(config, () => isGateway(config, outbound.send))],
      examineFunctions: () => examineFunctions(config, parts.importModule),
      // Whoever waits at a terminal can end it.
      signal: new AbortController().signal,
    });
  } finally {
    await outbound.close();
  }
}

/** Adds session tokens to requests, as the gateway does. Tool servers can fetch the public key only while the gateway runs. */
function withTokens(config: Config, send: SendOutbound): SendOutbound {
  const secret = findSecret(config.dataDir, config.secret);
  if (secret === undefined) return send;
  const issuer = (): string => config.publicUrl ?? localUrl(config);
  return withSessionTokens(send, createSessionTokens({ secret, issuer, now: Date.now }));
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

function examineSettings(environment: NodeJS.ProcessEnv, readFile: ReadFile): Finding[] {
  const file = readConfigFile(environment, readFile);
  const changed = listSettings(environment, file).flatMap(({ name, origin, value }) => {
    if (origin === 'default') return [];
    return [fact(`${origin === 'environment' ? name : `${nameInFile(name)} in ${file?.path}`} = ${value}`)];
  });
  const present = sections.filter((name) => file?.entries[name] !== undefined);
  const fromFile = present.length === 0 ? [] : [fact(`${file?.path} holds ${present.join(', ')}`)];
  const findings = [...changed, ...fromFile, ...findUnknownVariables(environment).map(unknownVariable)];
  return findings.length === 0 ? [fact('none')] : findings;
}
