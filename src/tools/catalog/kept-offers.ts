import { LRUCache } from 'lru-cache';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import type { CallerFunction } from '../../core/chat/chat.ts';
import type { Candidate, SuppliedFunctions } from '../definitions/tool-source.ts';
import { withoutBrought } from './without-brought.ts';
import type { ServerSupply } from './kept-servers.ts';
import { nameFunctions, type CandidateGroups, type NamedFunctions } from './named-functions.ts';

/** Functions in all kept offers together; those of one offer take about half a kilobyte each, and so much text of a request counts as one. */
const keptFunctions = 50_000;
const charactersOfFunction = 512;

/** The functions that a request may be offered, grouped by supplier. */
export interface Supplied {
  fromSources: readonly SuppliedFunctions[];
  registered: Omit<ServerSupply, 'id'> & Partial<Pick<ServerSupply, 'id'>>;
  /** Of servers that the request brings. */
  requested: readonly SuppliedFunctions[];
}

interface Kept {
  fromSources: readonly Candidate[];
  functions: NamedFunctions;
}

/** Caches the named functions of an offer for requests with the same supplied functions and the same names of their own functions. */
export class KeptOffers {
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: keptFunctions,
    sizeCalculation: ({ functions }, key) => functions.all.length + 1 + Math.ceil(key.length / charactersOfFunction),
  });

  nameFunctions(given: Supplied, callerFunctions: readonly CallerFunction[]): MaybePromise<NamedFunctions> {
    const supplied = ownWithoutBrought(given, callerFunctions);
    const callerNames = callerFunctions.map(({ name }) => name);
    const { id } = supplied.registered;
    if (supplied.requested.length > 0 || id === undefined) return nameFunctions(inPrecedence(supplied), callerNames);
    const fromSources = supplied.fromSources.flatMap(({ candidates }) => candidates);
    const key = `${id} ${fromSources.length} ${callerNames.length === 0 ? '' : JSON.stringify(callerNames)}`;
    const known = this.#kept.get(key);
    if (known?.fromSources.every((candidate, index) => candidate === fromSources[index]) === true) return known.functions;
    return nameFunctions(inPrecedence(supplied), callerNames).then((functions) => {
      this.#kept.set(key, { fromSources, functions });
      return functions;
    });
  }
}

/** The request's own servers are not changed. */
function ownWithoutBrought(supplied: Supplied, callerFunctions: readonly CallerFunction[]): Supplied {
  if (callerFunctions.length === 0) return supplied;
  const withoutThem = (candidates: readonly Candidate[]): readonly Candidate[] => withoutBrought(candidates, callerFunctions);
  const { registered } = supplied;
  const [candidates, lastCandidates] = [withoutThem(registered.candidates), withoutThem(registered.lastCandidates)];
  const isWhole = candidates === registered.candidates && lastCandidates === registered.lastCandidates;
  const { id: _id, ...others } = registered;
  return {
    ...supplied,
    fromSources: supplied.fromSources.map((functions) => ({ ...functions, candidates: withoutThem(functions.candidates) })),
    // Without some of its functions it is another one.
    registered: isWhole ? registered : { ...others, candidates, lastCandidates },
  };
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
