import { ConfigError } from './config-error.ts';

/** Settings of deployments that this version cannot serve. Ignoring them would pretend that several replicas work together. */
const withoutRedis = 'this version runs as one process and cannot use Redis';

/**
 * Names that other programs use for databases of their own, and the one that says where the files are: never taken from `.env`. The environment itself
 * may set them.
 */
export const notFromEnvFile: ReadonlySet<string> = new Set(['DATABASE_URL', 'REDIS_URL', 'TOOLWHARF_CONFIG']);

/** @throws ConfigError for `REDIS_URL` */
export function refuseVariables(environment: NodeJS.ProcessEnv): void {
  if ((environment['REDIS_URL'] ?? '').trim() !== '') throw new ConfigError(`REDIS_URL: ${withoutRedis}; unset it.`);
}

/** For a key of the configuration file. @throws ConfigError for `redis_url` */
export function refuseKey(key: string, path: string): void {
  if (key === 'redis_url') throw new ConfigError(`${path}: redis_url: ${withoutRedis}; remove it.`);
}
