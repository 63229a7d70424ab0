import { nearestWord } from '../../shared/text/nearest-word.ts';
import { sections } from './config-file.ts';
import { settingNames } from './settings.ts';

const prefix = 'TOOLWHARF_';
/** More changes than this make another word. */
const maxTypos = 4;

/** Unknown variables with the gateway's prefix: most likely misspelled, without effect. */
export function findUnknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = new Set<string>(settingNames());
  return Object.keys(environment).filter((name) => name.startsWith(prefix) && !known.has(name));
}

/** What to do about one of them. */
export function cureOfUnknownVariable(name: string): string {
  const bare = name.slice(prefix.length);
  const section = sections.find((known) => known === bare.toLowerCase());
  if (section !== undefined) return `Put ${section} into toolwharf.yaml: it has no variable.`;
  if (settingNames().some((known) => known === bare)) return `Did you mean ${bare}?`;
  const { word, changes } = nearestWord(name, settingNames());
  return changes <= maxTypos ? `Did you mean ${word}?` : 'Correct its name; docs/configuration.md lists them all.';
}
