import type { Finding } from '../../core/finding.ts';
import { findIgnoredEnvFile, type ReadFile } from '../config/config.ts';
import { cureOfUnknownVariable, findUnknownVariables } from '../config/unknown-variables.ts';
import { warning } from './finding.ts';

/** Settings that one finding names. */
const shownSettings = 5;

/** Settings that somebody has made and that have no effect. */
export function examineVariables(environment: NodeJS.ProcessEnv, readFile: ReadFile): Finding[] {
  const unknown = findUnknownVariables(environment).map((name) =>
    warning(`${name} is not a setting and has no effect`, cureOfUnknownVariable(name)),
  );
  const ignored = findIgnoredEnvFile(environment, readFile);
  if (ignored === undefined) return unknown;
  const { path, configPath, settings } = ignored;
  const more = settings.length > shownSettings ? ', …' : '';
  const text = `${path} is not read (${settings.slice(0, shownSettings).join(', ')}${more}), because there is no ${configPath}`;
  return [...unknown, warning(text, `Create ${configPath}, which may be empty, or set the variables in the environment.`)];
}
