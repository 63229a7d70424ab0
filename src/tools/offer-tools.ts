import { limits } from '../core/limits.ts';
import type { Tool, ToolOffer } from '../core/tool.ts';
import { uniqueNames } from './name-functions.ts';

export type Warning = ToolOffer['warnings'][number];

/** A function that could be offered, before it has a name of its own. */
export interface Candidate {
  /** Legal; what it is called when nothing else is called so. */
  wanted: string;
  /** Identifies it whatever the order. */
  key: string;
  toTool(offeredName: string): Tool;
}

export interface OfferOptions {
  /** In order of precedence: a clash renames the function of the later group. */
  groups: readonly (readonly Candidate[])[];
  /** Names of the caller's own tools; they count towards the limit. */
  callerNames: readonly string[];
}

/** Gives every candidate its name, and leaves out what no provider would take. */
export function offerTools({ groups, callerNames }: OfferOptions): ToolOffer {
  const tools = new Map<string, Tool>();
  const taken = new Set(callerNames);
  const warnings: Warning[] = [];
  const room = Math.max(0, limits.toolsPerRequest - callerNames.length);
  let wantedCount = 0;
  for (const group of groups) {
    wantedCount += group.length;
    const wishes = group
      .slice(0, room - tools.size)
      .map((candidate) => ({ wanted: candidate.wanted, key: candidate.key, entry: candidate }));
    for (const { name, entry, renamed } of uniqueNames(wishes, taken)) {
      const tool = entry.toTool(name);
      taken.add(name);
      tools.set(name, tool);
      if (renamed !== undefined) warnings.push(renamedWarning(tool, renamed));
    }
  }
  if (wantedCount > tools.size) warnings.push(tooManyWarning(wantedCount, tools.size));
  return { tools, warnings };
}

/** One sentence, whether or not the reason already ends as one. */
export function leftOutWarning(code: string, what: string, reason: string): Warning {
  return { code, message: `${what} is left out: ${reason.replace(/\.$/, '')}.` };
}

function renamedWarning(tool: Tool, { from, to, reason }: { from: string; to: string; reason: string }): Warning {
  return { code: 'function_renamed', message: `The function "${from}" of ${tool.server} is offered as "${to}": ${reason}.` };
}

function tooManyWarning(wanted: number, offered: number): Warning {
  return {
    code: 'functions_left_out',
    message:
      `${wanted - offered} of ${wanted} functions are left out, because a request may have ${limits.toolsPerRequest} with the caller's own. ` +
      'Choose the ones you need with tool_ids ("server:<id>" or "server:<id>/<function>").',
  };
}
