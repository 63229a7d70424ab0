import { keepFor } from '../../shared/keep-last.ts';
import { isJsonObject, ownValue, type JsonObject } from '../../shared/json/json.ts';
import type { ToolSpec } from '../../core/tools/tool.ts';
import { findOfferedName } from '../fit-calls/find-offered-name.ts';
import type { AnswerText } from './answer-text.ts';
import type { AnswerRepairs } from './json/repair-json.ts';

/** What the readers of all forms share: the text, and the offered functions. */
export interface ReadContext {
  input: AnswerText;
  repairs: AnswerRepairs;
  /** Offered under exactly this name. */
  isOffered: (name: string) => boolean;
  /** Matches the name of one offered function, possibly shortened: see `findOfferedName`. */
  isKnown: (name: string) => boolean;
  /** The name of an offered function begins with this text. */
  beginsName: (text: string) => boolean;
  /** Schema of one parameter; undefined where nothing is known. */
  schemaOf: (name: string, parameter: string) => JsonObject | undefined;
  /** The schema of all arguments of an offered function. */
  parametersOf: (name: string) => JsonObject | undefined;
  /** Whether the function has each of these parameters. */
  takes: (name: string, parameters: readonly string[]) => boolean;
  /** The answer to a selection prompt: see `ToolCallParserOptions`. */
  isSelection: boolean;
}

/** What encloses calls: marks, a fence, or nothing. */
export interface Enclosure {
  /** Unmistakable marks stand around it. */
  isMarked: boolean;
  /** The mark that began the block; if it occurs again, another block begins. */
  open?: string;
  /** Marks that end the block. */
  closes: readonly string[];
  /** `name(…)` counts as a call, as in a fence or a whole answer. */
  allowsPythonicCalls?: boolean;
  /** Reject JSON at once if its first key is not one that calls have. */
  needsCallKey?: boolean;
  /** Lines that begin with `#` or `//` may stand between calls. */
  allowsComments?: boolean;
  /** Each call may stand in a `print(…)`, as in Gemma's fences of `tool_code`. */
  allowsPrint?: boolean;
}

/** Nothing encloses the call. */
export const bare: Enclosure = { isMarked: false, closes: [] };

type OfferedFunctions = Omit<ReadContext, 'input' | 'repairs' | 'isSelection'>;

/** Keyed by the list of functions, which many chats share. */
const offeredIn = keepFor((tools: readonly ToolSpec[]): OfferedFunctions => {
  const specs: ReadonlyMap<string, ToolSpec> = new Map(tools.map((tool) => [tool.name, tool]));
  const names = [...specs.keys()];
  const knownAs = (written: string): string | undefined => {
    const match = findOfferedName(written, names);
    return match.type === 'unknown' ? undefined : match.name;
  };
  const propertiesOf = (name: string): JsonObject => {
    const properties = specs.get(knownAs(name) ?? '')?.parameters['properties'];
    return isJsonObject(properties) ? properties : {};
  };
  return {
    isOffered: (name) => specs.has(name),
    isKnown: (name) => knownAs(name) !== undefined,
    beginsName: (text) => names.some((name) => name.startsWith(text)),
    schemaOf: (name, parameter) => {
      const schema = ownValue(propertiesOf(name), parameter);
      return isJsonObject(schema) ? schema : undefined;
    },
    parametersOf: (name) => specs.get(name)?.parameters,
    takes: (name, parameters) => parameters.every((parameter) => Object.hasOwn(propertiesOf(name), parameter)),
  };
});

export function createReadContext(
  { input, repairs, isSelection }: Pick<ReadContext, 'input' | 'repairs' | 'isSelection'>,
  tools: readonly ToolSpec[],
): ReadContext {
  const { isOffered, isKnown, beginsName, schemaOf, parametersOf, takes } = offeredIn(tools);
  return { input, repairs, isSelection, isOffered, isKnown, beginsName, schemaOf, parametersOf, takes };
}
