import type { ToolOffer, ToolSpec } from '../../core/tools/tool.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import { cutAhead } from './cut/cut-spec.ts';
import { byName, costOf, offeredTokens, type NamedFunctions } from './named-functions.ts';
import type { FunctionSearch } from './search-functions.ts';
import type { Warning } from '../definitions/tool-source.ts';

/** Functions that are offered when there are too many; with more, models choose worse. */
export const chosenFunctions = 40;

interface OfferOptions {
  /** The latest messages of the user, by which functions are chosen if there are too many. */
  query: () => string;
  /** Makes a search over a list of functions. Absent: the first functions are offered. */
  searchIn?: (specs: readonly ToolSpec[]) => Promise<FunctionSearch>;
}

/**
 * Offers all functions that fit what a model can handle. If there are more, those that the request names and those that fit the conversation best are
 * offered. The others are deferred: the `finder` tool finds them.
 */
export function offerTools(functions: NamedFunctions, options: OfferOptions): MaybePromise<ToolOffer> {
  const { whole, describer } = functions;
  if (whole === undefined) return chooseTools(functions, options);
  return describer === undefined ? whole : cutAhead([...whole.tools.values()]).then(() => whole);
}

async function chooseTools(functions: NamedFunctions, { query, searchIn }: OfferOptions): Promise<ToolOffer> {
  const { all, describer } = functions;
  const search = await searchIn?.(functions.specs);
  const matching = (await search?.(query(), chosenFunctions)) ?? [];
  const offered = chooseWithin(functions, matching).flatMap((position) => all[position] ?? []);
  await cutAhead(offered.map(({ tool }) => tool));
  return {
    tools: byName(offered),
    warnings: [...functions.warnings, tooManyWarning(all.length, offered.length)],
    ...(describer && { describer }),
    ...(search && { finder: functions.finder(search) }),
  };
}

/** Positions of the chosen functions, ascending. They are chosen in this order: named by the request, best match, then evenly from each server. */
function chooseWithin({ all, capacity, requested, fromEachServer }: NamedFunctions, matching: readonly number[]): number[] {
  // One place is for the finder.
  const most = capacity - 1;
  const chosen = new Set<number>();
  let tokens = 0;
  for (const positions of [requested, matching, fromEachServer]) {
    for (const position of positions) {
      const entry = all[position];
      if (entry === undefined || chosen.has(position)) continue;
      if (chosen.size >= (entry.candidate.isNamed === true ? most : Math.min(most, chosenFunctions))) break;
      const cost = costOf(entry);
      // Skip a function that is too large, but continue with smaller ones.
      if (tokens + cost > offeredTokens) continue;
      tokens += cost;
      chosen.add(position);
    }
  }
  return [...chosen].toSorted((one, other) => one - other);
}

function tooManyWarning(wanted: number, offered: number): Warning {
  return {
    code: 'functions_left_out',
    message:
      `${offered} of ${wanted} functions are offered, those that fit the conversation best; the model can search the others. ` +
      'To choose them yourself, use tool_ids ("server:<id>" or "server:<id>/<function>").',
  };
}
