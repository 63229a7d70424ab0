import { nearestWord } from '../../shared/text/nearest-word.ts';
import { sections } from './config-file.ts';
import { settingNames } from './settings.ts';

const prefix = 'TOOLWHARF_';
/** More changes than this make another word. */
const maxTypos = 4;

/** OpenTelemetry's variables begin with this. Only one that names a collector makes the others matter. */
const otelPrefix = 'OTEL_';
const namesCollector = /^OTEL_EXPORTER_OTLP_(?:\w+_)?ENDPOINT$/;

/** Unknown variables with the gateway's prefix: most likely misspelled, without effect. With a collector also those of OpenTelemetry that are not used. */
export function findUnknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = new Set<string>(settingNames());
  const names = Object.keys(environment);
  const prefixes = names.some((name) => namesCollector.test(name)) ? [prefix, otelPrefix] : [prefix];
  return names.filter((name) => prefixes.some((start) => name.startsWith(start)) && !known.has(name));
}

/** What to do about one of them. */
export function cureOfUnknownVariable(name: string): string {
  if (name.startsWith(otelPrefix)) return 'The gateway does not use it; docs/operations.md lists those of OpenTelemetry that it uses.';
  const bare = name.slice(prefix.length);
  const section = sections.find((known) => known === bare.toLowerCase());
  if (section !== undefined) return `Put ${section} into toolwharf.yaml: it has no variable.`;
  if (settingNames().some((known) => known === bare)) return `Did you mean ${bare}?`;
  const { word, changes } = nearestWord(name, settingNames());
  return changes <= maxTypos ? `Did you mean ${word}?` : 'Correct its name; docs/configuration.md lists them all.';
}
