import type { JsonObject } from '../../core/json.ts';
import type { ToolSpec } from '../../core/tool.ts';
import { findOfferedName } from '../find-offered-name.ts';
import type { GrowingText } from './growing-text.ts';

/** What readers know: the text, and the functions on offer. */
export interface ReadContext {
  input: GrowingText;
  /** Offered under exactly this name. */
  isOffered: (name: string) => boolean;
  /** Understood as the name of one offered function. */
  isKnown: (name: string) => boolean;
  /** Schema of one parameter; undefined where nothing is known. */
  schemaOf: (name: string, parameter: string) => JsonObject | undefined;
}

/** What surrounds a call. */
export interface EntryPlace {
  /** Unmistakable marks stand around it. */
  isMarked: boolean;
  /** The mark that began the block: where it stands again, another block begins. */
  open?: string;
  /** Marks that end the block. */
  closes: readonly string[];
  /** A whole answer, a fence or the like: `name(…)` may stand by itself. */
  allowsPlainCalls: boolean;
  /** The first key has to be one of a call, else the reader gives up at once. */
  givesUpEarly: boolean;
}

/** Nothing surrounds it. */
export const bare: EntryPlace = { isMarked: false, closes: [], allowsPlainCalls: false, givesUpEarly: false };

export function createReadContext(input: GrowingText, tools: readonly ToolSpec[]): ReadContext {
  const specs = new Map(tools.map((tool) => [tool.name, tool]));
  const names = [...specs.keys()];
  const understood = (name: string): string | undefined => {
    const match = findOfferedName(name, names);
    return match.type === 'unknown' ? undefined : match.name;
  };
  return {
    input,
    isOffered: (name) => specs.has(name),
    isKnown: (name) => understood(name) !== undefined,
    schemaOf: (name, parameter) => {
      const properties = specs.get(understood(name) ?? '')?.parameters['properties'] as JsonObject | undefined;
      const schema = typeof properties === 'object' && Object.hasOwn(properties, parameter) ? properties[parameter] : undefined;
      return typeof schema === 'object' && schema !== null && !Array.isArray(schema) ? schema : undefined;
    },
  };
}
