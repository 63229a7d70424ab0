import type { MissingArguments } from '../../../core/tools/tool.ts';
import { ownValue, type JsonObject } from '../../../shared/json/json.ts';
import type { ArgumentBinding, BodyAlternative, Operation } from '../../definitions/operation.ts';
import { ArgumentError } from './argument-error.ts';

const noneMissing: MissingArguments = { names: [], given: [] };

type BodyParts = Pick<Operation, 'body' | 'bindings'>;

/** The media types of a body that accept all given arguments, and the required members that one of them lacks. */
interface BodyChoice {
  types: BodyAlternative[];
  given: ReadonlySet<string>;
  /** Given, but not declared. */
  further: string[];
  taking: BodyAlternative[];
  isNeeded: (binding: ArgumentBinding) => boolean;
}

/** The body's media type for a call: the first that accepts all arguments. Types whose required members are given come first. */
export function bodyPlanFor({ body, bindings }: BodyParts, args: JsonObject): BodyAlternative | undefined {
  if (body === undefined) return undefined;
  const { types, given, taking, isNeeded } = readChoice(body, bindings, args);
  if (types.length === 1) return types[0];
  const groups = types.map((type) => type.bindings.map(({ argument }) => argument).join(', ')).join('; or ');
  if (taking.length === 0)
    throw new ArgumentError(`${[...given].join(', ')}: cannot be sent together. Use only the arguments of one of these groups: ${groups}`);
  const whole = taking.find((type) => missingFrom(type, { given, isNeeded }).length === 0);
  const [missing] = taking[0] === undefined ? [] : missingFrom(taking[0], { given, isNeeded });
  if (whole === undefined && missing !== undefined) throw new ArgumentError(`${missing}: is required`);
  return whole ?? taking[0];
}

/** The required members that a call lacks, if it gives any member of an optional body. */
export function missingFromBody({ body, bindings }: BodyParts, args: JsonObject): MissingArguments {
  if (body === undefined || body.isRequired) return noneMissing;
  const { taking, given, further, isNeeded } = readChoice(body, bindings, args);
  const missing = taking.map((type) => missingFrom(type, { given, isNeeded }));
  const [names = []] = missing;
  return missing.some((lacking) => lacking.length === 0) ? noneMissing : { names, given: [...given, ...further] };
}

function readChoice(body: NonNullable<Operation['body']>, bindings: ArgumentBinding[], args: JsonObject): BodyChoice {
  const first = { plan: body, bindings: bindings.filter((binding) => binding.in === 'body') };
  const types = [first, ...(body.alternatives ?? [])];
  const isGiven = ({ argument }: ArgumentBinding): boolean => (ownValue(args, argument) ?? null) !== null;
  const given = new Set(types.flatMap((type) => type.bindings.filter(isGiven)).map(({ argument }) => argument));
  const further = furtherNames({ body, bindings }, args);
  const taking = types.filter(
    ({ plan, bindings: own }) =>
      [...given].every((name) => own.some(({ argument }) => argument === name)) && (further.length === 0 || plan.further !== undefined),
  );
  const hasBody = given.size > 0 || further.length > 0;
  const isNeeded: BodyChoice['isNeeded'] = ({ isRequired, isRequiredInBody }) => isRequired || (hasBody && isRequiredInBody === true);
  return { types, given, further, taking, isNeeded };
}

function missingFrom({ bindings }: BodyAlternative, { given, isNeeded }: Pick<BodyChoice, 'given' | 'isNeeded'>): string[] {
  return bindings.filter((binding) => isNeeded(binding) && !given.has(binding.argument)).map(({ argument }) => argument);
}

/** Arguments without a binding: further members of a body that allows them. */
export function furtherNames({ body, bindings }: BodyParts, args: JsonObject): string[] {
  const all = [...bindings, ...(body?.alternatives ?? []).flatMap((type) => type.bindings)];
  const bound = new Set(all.map(({ argument }) => argument));
  return Object.keys(args).filter((name) => !bound.has(name));
}
