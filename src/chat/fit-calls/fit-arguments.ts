import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import type { Tool } from '../../core/tools/tool.ts';
import { withPlainNumbers } from '../../shared/json/parse-exactly.ts';
import { coerceArguments } from './coerce-arguments.ts';
import { parseSafely } from './coerce-scalar.ts';
import { requiredNames } from './fits-schema.ts';
import { createMemberReader, type MemberReader } from './declared-members.ts';
import { hasUnknownArguments, isSpelledAlike, listNames, settleUnknownArguments } from './settle-unknown-arguments.ts';

/** Arguments as they are sent, and what was done to those that were given. */
export interface FittedArguments {
  args: JsonObject;
  /** One sentence per change, for the run's events. */
  repairs: string[];
  /** What the model has to know of them: names that were read as others, or ignored. */
  notices: string[];
  /** Why a call with these arguments must not run. They are not validated yet. */
  problems: string[];
}

export interface FittingRules {
  /** The function changes nothing: its calls run without arguments that it does not know. */
  onlyReads: boolean;
  /** As of a tool. */
  takesNothing: boolean;
  /** As of a tool. */
  missingFrom?: NonNullable<Tool['missingFrom']> | undefined;
}

/** Of a function that may change something. */
export const strictRules: FittingRules = { onlyReads: false, takesNothing: false };

export function rulesFor({ isReadOnly = false, takesNothing = false, missingFrom }: Tool): FittingRules {
  return { onlyReads: isReadOnly, takesNothing, missingFrom };
}

const closedSchema: JsonObject = { type: 'object', properties: {}, additionalProperties: false };

/** Renamed members may hold texts that are objects, and so on. */
const maxRounds = 3;
const tooManyTexts = 'objects are encoded as strings inside strings; send them as objects';
/** Models that were trained on other forms of calls put the arguments into one of these. */
const wrappers = ['parameters', 'arguments'];

/**
 * Fits a model's arguments to the schema of the function: their names, then their types. Defaults are filled in only after names are settled. Numbers may be
 * those of `parseAsWritten`, so that texts are made of what was written.
 */
export function fitArguments(given: JsonObject, parameters: JsonObject, rules: FittingRules): FittedArguments {
  const fitted = addMissing(fitAsWritten(given, parameters, rules), parameters, rules);
  return { ...fitted, args: withPlainNumbers(fitted.args) as JsonObject };
}

function fitAsWritten(given: JsonObject, parameters: JsonObject, { onlyReads, takesNothing }: FittingRules): FittedArguments {
  const schema = takesNothing ? closedSchema : parameters;
  const read = createMemberReader(schema);
  const { args: plain, wrapper } = unwrap(given, schema, read);
  const fitted: FittedArguments = { args: plain, repairs: [], notices: [], problems: [] };
  if (wrapper !== undefined) {
    fitted.repairs.push(`${wrapper}: what it holds was read as the arguments`);
    fitted.notices.push(`The function has no argument '${wrapper}'; what it holds was read as the arguments.`);
  }
  for (let round = 0; round < maxRounds; round += 1) {
    const coerced = coerceArguments(fitted.args, schema);
    if (!hasUnknownArguments(coerced.args, schema, read))
      return { ...fitted, args: coerced.args, repairs: [...fitted.repairs, ...coerced.changes] };
    const { args, changes } = coerceArguments(fitted.args, schema, { fillsDefaults: false });
    const { hasRenamed, ...settled } = settleUnknownArguments(args, schema, { read, onlyReads });
    fitted.args = settled.args;
    fitted.repairs.push(...changes, ...settled.repairs);
    fitted.notices.push(...settled.notices);
    fitted.problems.push(...settled.problems);
    if (!hasRenamed) break;
  }
  const { args, changes } = coerceArguments(fitted.args, schema);
  if (hasUnknownArguments(args, schema, read)) fitted.problems.push(tooManyTexts);
  return { ...fitted, args, repairs: [...fitted.repairs, ...changes] };
}

/** Arguments that other arguments require get their defaults. Without a default, they are a problem. */
function addMissing(fitted: FittedArguments, parameters: JsonObject, { missingFrom }: FittingRules): FittedArguments {
  const missing = missingFrom?.(fitted.args);
  if (missing === undefined || missing.names.length === 0) return fitted;
  const { args, changes } = coerceArguments(fitted.args, { ...parameters, required: [...requiredNames(parameters), ...missing.names] });
  const others = listNames(missing.given);
  const problems = missing.names.filter((name) => !Object.hasOwn(args, name)).map((name) => `${name}: is required together with ${others}`);
  return { ...fitted, args, repairs: [...fitted.repairs, ...changes], problems: [...fitted.problems, ...problems] };
}

/** The arguments within `{"parameters": {…}}`, where the function declares no such name and allows no further ones. */
function unwrap(given: JsonObject, schema: JsonObject, read: MemberReader): { args: JsonObject; wrapper?: string } {
  const [wrapper, another] = Object.keys(given);
  if (wrapper === undefined || another !== undefined || !wrappers.includes(wrapper)) return { args: given };
  const declared = read(schema);
  const value = given[wrapper];
  const inner = typeof value === 'string' ? parseSafely(value) : value;
  const isDeclared = declared.has(wrapper) || declared.names().some((name) => isSpelledAlike(name, wrapper));
  return declared.isOpen || isDeclared || !isJsonObject(inner) ? { args: given } : { args: inner, wrapper };
}
