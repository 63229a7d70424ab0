import { LRUCache } from 'lru-cache';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import type { Candidate, SuppliedFunctions } from '../definitions/tool-source.ts';
import type { ServerSupply } from './kept-servers.ts';
import { nameFunctions, type CandidateGroups, type NamedFunctions } from './named-functions.ts';

/** Functions in all kept offers together; those of one offer take about half a kilobyte each. */
const keptFunctions = 50_000;

/** The functions that a request may be offered, by who supplies them. */
export interface Supplied {
  fromSources: readonly SuppliedFunctions[];
  registered: ServerSupply;
  /** Of servers that the request brings. */
  requested: readonly SuppliedFunctions[];
}

interface Kept {
  registered: ServerSupply;
  fromSources: readonly Candidate[];
  functions: NamedFunctions;
}

/** Keeps the named functions of an offer for requests that are supplied with the same functions, and bring functions of the same names. */
export class KeptOffers {
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: keptFunctions,
    sizeCalculation: ({ functions }) => functions.all.length + 1,
  });

  nameFunctions(supplied: Supplied, callerNames: readonly string[]): MaybePromise<NamedFunctions> {
    const { registered, requested } = supplied;
    if (requested.length > 0 || registered.id === undefined) return nameFunctions(inPrecedence(supplied), callerNames);
    const fromSources = supplied.fromSources.flatMap(({ candidates }) => candidates);
    const key = `${registered.id} ${fromSources.length} ${callerNames.join(' ')}`;
    const known = this.#kept.get(key);
    const isSame =
      known?.registered === registered &&
      known.fromSources.length === fromSources.length &&
      known.fromSources.every((candidate, index) => candidate === fromSources[index]);
    if (isSame) return known.functions;
    return nameFunctions(inPrecedence(supplied), callerNames).then((functions) => {
      this.#kept.set(key, { registered, fromSources, functions });
      return functions;
    });
  }
}

/** In a name clash, the function of the later group is renamed. */
function inPrecedence({ fromSources, registered, requested }: Supplied): CandidateGroups {
  const wanted = new Set(requested.flatMap(({ candidates }) => candidates.map((candidate) => candidate.wanted)));
  return [
    ...fromSources.map(({ candidates }) => candidates),
    registered.candidates,
    ...requested.map(({ candidates }) => candidates),
    registered.lastCandidates.filter((candidate) => !wanted.has(candidate.wanted)),
  ];
}
