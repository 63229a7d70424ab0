/** The match of a name that a model wrote with the offered names. */
type NameMatch =
  | { type: 'exact'; name: string }
  /** Written differently: another case or separator, or a shortened form that matches just one function. */
  | { type: 'repaired'; name: string }
  | { type: 'unknown'; candidates: string[] };

const shortestPrefix = 3;
/** The minimum letters of a name that was truncated within a word (`get_current_loc`). */
const minTruncatedLength = 6;
/** Offered names have at most 64 characters; much longer texts are not names. */
const maxWrittenLength = 256;
const shownCandidates = 12;

/**
 * Models shorten long generated names, such as FastAPI's (`get_current_local` for `get_current_local_get_current_local_time_get`). A shortened name
 * is accepted if exactly one function matches; a guess between two could run the wrong one.
 */
export function findOfferedName(written: string, offered: readonly string[]): NameMatch {
  if (written.length > maxWrittenLength) return { type: 'unknown', candidates: offered.slice(0, shownCandidates) };
  const trimmed = written.trim();
  if (offered.includes(trimmed)) return { type: 'exact', name: trimmed };
  const steps: ((name: string) => boolean)[] = [
    (name) => plain(name) === plain(trimmed),
    (name) => plain(name) === plain(trimmed.slice(trimmed.lastIndexOf('/') + 1)),
    (name) => isShortened(trimmed, name),
    (name) => plain(trimmed).length >= minTruncatedLength && plain(name).startsWith(plain(trimmed)),
  ];
  for (const fits of steps) {
    const matches = offered.filter(fits);
    const only = matches.length === 1 ? matches[0] : plainOf(matches);
    if (only !== undefined) return { type: 'repaired', name: only };
    if (matches.length > 1) return { type: 'unknown', candidates: matches.slice(0, shownCandidates) };
  }
  return { type: 'unknown', candidates: offered.slice(0, shownCandidates) };
}

/** A function renamed after a clash has its plain name and a short hash; it does not make the plain name ambiguous. */
function plainOf(names: readonly string[]): string | undefined {
  return names.find((name) =>
    names.every((other) => other === name || (other.startsWith(`${name}_`) && /^_[0-9a-f]{6,8}$/.test(other.slice(name.length)))),
  );
}

/** Case and separators are ignored, because models mix them up. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** Whether the written name is a prefix or suffix of the name, in whole words. */
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
