import type { JsonObject } from '../../../shared/json/json.ts';
import type { ArgumentBinding, BodyAlternative, BodyPlan } from '../../definitions/operation.ts';
import type { PlannedBody } from './convert-body.ts';
import type { PlannedArgument } from './convert-parameters.ts';

/** Members that only other media types have, once each. */
export function furtherArguments({ arguments: first, alternatives }: PlannedBody): PlannedArgument[] {
  const found = new Map<string, PlannedArgument>();
  for (const argument of alternatives.flatMap((type) => type.arguments))
    if (first.every(({ name }) => name !== argument.name) && !found.has(argument.name)) found.set(argument.name, argument);
  return [...found.values()];
}

export function toAlternative(
  { plan, arguments: members }: PlannedBody['alternatives'][number],
  named: readonly ArgumentBinding[],
): BodyAlternative {
  const argumentOf = new Map(named.flatMap((binding) => (binding.in === 'body' ? [[binding.name, binding.argument] as const] : [])));
  return {
    plan,
    bindings: members.map(({ schema: _schema, ...binding }) => ({ ...binding, argument: argumentOf.get(binding.name) ?? binding.name })),
  };
}

/** A member is required if each media type requires it, and accepts the values of each. */
export function asOneOfAll<Argument extends ArgumentBinding & { schema: JsonObject }>(
  argument: Argument,
  body: PlannedBody | undefined,
): Argument {
  if (argument.in !== 'body' || body === undefined || body.alternatives.length === 0) return argument;
  const types = [body, ...body.alternatives].map((type) => type.arguments.find(({ name }) => name === argument.name));
  // Described once: the types describe it alike.
  const { description } = argument.schema;
  const schemas = types.flatMap((found) => (found === undefined ? [] : [withoutDescription(found.schema)]));
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  const isRequired = types.every((found) => found?.isRequired === true);
  if (different.length < 2) return { ...argument, isRequired };
  return { ...argument, isRequired, schema: { ...(description !== undefined && { description }), anyOf: different } };
}

function withoutDescription({ description: _description, ...schema }: JsonObject): JsonObject {
  return schema;
}

/** Which arguments go together, one list per media type; empty if there is only one type. */
export function bodyChoices(bindings: readonly ArgumentBinding[], alternatives: readonly BodyAlternative[]): string[][] {
  if (alternatives.length === 0) return [];
  const first = bindings.filter((binding) => binding.in === 'body');
  return [first, ...alternatives.map((alternative) => alternative.bindings)].map((group) => group.map(({ argument }) => argument));
}

/** The arguments that each media type requires of a body that may be left out. A function cannot require them, so its description names them. */
export function bodyNeeds(bindings: readonly ArgumentBinding[], alternatives: readonly BodyAlternative[]): string[] {
  const needsOf = (type: readonly ArgumentBinding[]): string[] =>
    type.filter(({ isRequiredInBody }) => isRequiredInBody === true).map(({ argument }) => argument);
  return needsOf(bindings).filter((name) => alternatives.every((type) => needsOf(type.bindings).includes(name)));
}

export function toBodyPlan(
  plan: Omit<BodyPlan, 'argument'> | undefined,
  { bindings, alternatives }: { bindings: readonly ArgumentBinding[]; alternatives: BodyAlternative[] },
): BodyPlan | undefined {
  if (plan?.kind !== 'whole') return plan === undefined || alternatives.length === 0 ? plan : { ...plan, alternatives };
  const argument = bindings.find((binding) => binding.in === 'body')?.argument;
  return argument === undefined ? plan : { ...plan, argument };
}
