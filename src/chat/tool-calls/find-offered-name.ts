/** A name as a model wrote it, matched against the names on offer. */
export type NameMatch =
  | { type: 'exact'; name: string }
  /** Understood although written differently: another case or separator, or a shortened form that fits one function only. */
  | { type: 'repaired'; name: string }
  | { type: 'unknown'; candidates: string[] };

const shortestPrefix = 3;
/** Letters of a name that breaks off within a word (`get_current_loc`). */
const shortestBrokenOff = 6;
/** Names on offer have at most 64 characters; what is far longer is no name. */
const longestWritten = 256;
const shownCandidates = 12;

/**
 * Models shorten the long names that FastAPI generates (`get_current_local` for
 * `get_current_local_get_current_local_time_get`). Such a name is understood when exactly one function fits; guessing between two would run the wrong one.
 */
export function findOfferedName(written: string, offered: readonly string[]): NameMatch {
  if (written.length > longestWritten) return { type: 'unknown', candidates: offered.slice(0, shownCandidates) };
  const trimmed = written.trim();
  if (offered.includes(trimmed)) return { type: 'exact', name: trimmed };
  const steps: ((name: string) => boolean)[] = [
    (name) => plain(name) === plain(trimmed),
    (name) => plain(name) === plain(trimmed.slice(trimmed.lastIndexOf('/') + 1)),
    (name) => isShortened(trimmed, name),
    (name) => plain(trimmed).length >= shortestBrokenOff && plain(name).startsWith(plain(trimmed)),
  ];
  for (const fits of steps) {
    const matches = offered.filter(fits);
    const only = matches.length === 1 ? matches[0] : plainOf(matches);
    if (only !== undefined) return { type: 'repaired', name: only };
    if (matches.length > 1) return { type: 'unknown', candidates: matches.slice(0, shownCandidates) };
  }
  return { type: 'unknown', candidates: offered.slice(0, shownCandidates) };
}

/** A function renamed for a clash carries its plain name and a short hash; it does not make that name ambiguous. */
function plainOf(names: readonly string[]): string | undefined {
  return names.find((name) =>
    names.every((other) => other === name || (other.startsWith(`${name}_`) && /^_[0-9a-f]{6,8}$/.test(other.slice(name.length)))),
  );
}

/** Case and separators carry no meaning that a model could be held to. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** The written form is the beginning or the end of the name, in whole words. */
function isShortened(written: string, name: string): boolean {
  const short = words(written);
  const long = words(name);
  if (plain(written).length < shortestPrefix || short.length === 0 || short.length >= long.length) return false;
  const isBeginning = short.every((word, index) => word === long[index]);
  return isBeginning || short.every((word, index) => word === long[long.length - short.length + index]);
}

function words(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}
