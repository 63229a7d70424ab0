import { ownValue } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { limits } from '../../../core/limits.ts';
import { withoutUndefined } from '../../../shared/without-undefined.ts';
import { uniqueNames } from '../../catalog/name-functions.ts';
import { componentName, createSchemaAdapter, SchemaTooLarge, type SchemaAdapter, type SharedAdaptation } from './adapt-schema.ts';
import { planBody, type PlannedBody } from './convert-body.ts';
import { planParameters, type PlannedArgument } from './convert-parameters.ts';
import {
  createRegisteredBudget,
  operationNodes,
  outgrownReason,
  spendFrom,
  spentReason,
  type ConversionBudget,
  type Spend,
} from './conversion-budget.ts';
import { describeOperation } from './describe-operation.ts';
import { createRecursionFinder, type RecursionFinder } from './find-recursion.ts';
import { nameArguments } from './name-arguments.ts';
import {
  OmittedOperation,
  type ArgumentBinding,
  type BodyAlternative,
  type BodyPlan,
  type Conversion,
  type Operation,
} from '../operation.ts';
import { explainNoOperations, listOperations, tooManyOperations, type ListedOperation } from './list-operations.ts';
import { readRequestParts } from './read-request-parts.ts';
import { readSecurity, type SecuritySchemes } from './read-security.ts';
import { shortened } from './schema-keywords.ts';
import { shareDefinitions } from './share-definitions.ts';
import { serverPathIn } from '../load/server-base-url.ts';

export type { ArgumentBinding, BodyPlan, Conversion, Operation } from '../operation.ts';

/** Beyond this a function's schemas are written as definitions, which says the same in a tenth of the tokens. */
const inlinedNodes = 2_000;
const otherServers =
  'Of the servers that single paths or operations name, only the path is used: all are addressed at the origin of this connection.';
/** A report is read by people. */
const maxWarnings = 100;
const warningCharacters = 1_000;

/** What stays the same for all operations of a document. */
interface ConversionContext {
  document: JsonObject;
  isRecursive: RecursionFinder;
  security: SecuritySchemes;
  shared: SharedAdaptation;
  spend: Spend;
  warnings: Set<string>;
}

export interface ConversionOptions {
  /** Shared by whatever is converted together; without it the document has one of its own. */
  budget?: ConversionBudget;
  /** What an operation is called where its own name holds what must not be shown; calls go by method and path. */
  hide?: (operationId: string) => string;
}

type UnnamedOperation = Omit<Operation, 'spec'> & { description: string; parameters: JsonObject };

/** Every operation of a document as a function. Never throws: an operation that cannot be converted is reported with the reason. */
export function convertOperations(document: JsonObject, options: ConversionOptions = {}): Conversion {
  const { budget = createRegisteredBudget(), hide } = options;
  const spend = spendFrom(budget);
  const { listed: found, omitted } = listOperations(document, spend);
  const listed = hide === undefined ? found : found.map((entry) => ({ ...entry, operationId: hide(entry.operationId) }));
  const context: ConversionContext = {
    document,
    isRecursive: createRecursionFinder(document, budget),
    security: readSecurity(document, spend),
    shared: { budget, inlined: new Map() },
    spend,
    warnings: new Set(),
  };
  const cutReasons = new Set([spentReason, outgrownReason, tooManyOperations]);
  const converted: UnnamedOperation[] = [];
  for (const entry of listed) {
    const reason = tryConvert(entry, context, converted);
    if (reason !== undefined) omitted.push({ operation: nameOf(entry), reason });
  }
  const cut = omitted.filter(({ reason }) => cutReasons.has(reason));
  const [first] = cut;
  return {
    ...nameOperations(converted),
    omitted,
    warnings: listed.length + omitted.length === 0 ? [explainNoOperations(document)] : [...context.warnings],
    ...(first !== undefined && { cut: { count: cut.length, reason: first.reason } }),
  };
}

/** Adds to `converted`, or returns the reason why not. */
function tryConvert(entry: ListedOperation, context: ConversionContext, converted: UnnamedOperation[]): string | undefined {
  // Cheaper than to find it out by an error for each of many thousand operations.
  if (context.shared.budget.nodesLeft < operationNodes) return spentReason;
  try {
    context.spend(operationNodes);
    const operation = convertOperation(entry, context);
    const reason = whyTooLarge(operation, context.shared.budget);
    if (reason === undefined) converted.push(operation);
    return reason;
  } catch (error) {
    if (!(error instanceof OmittedOperation)) throw error;
    return error.message;
  }
}

/** A smaller function after it may still fit. */
function whyTooLarge({ parameters }: UnnamedOperation, budget: ConversionBudget): string | undefined {
  const { length } = JSON.stringify(parameters);
  if (length > limits.functionCharacters) return `its parameters take more than ${limits.functionCharacters} characters`;
  if (length > budget.charactersLeft) return outgrownReason;
  budget.charactersLeft -= length;
  return undefined;
}

function nameOf({ method, path }: { method: string; path: string }): string {
  return `${method} ${path}`;
}

function nameOperations(converted: UnnamedOperation[]): Pick<Conversion, 'operations' | 'renamed'> {
  const wishes = converted.map((entry) => ({ wanted: entry.operationId, key: nameOf(entry), entry }));
  const named = uniqueNames(wishes, new Set());
  return {
    operations: named.map(({ name, entry: { description, parameters, ...rest } }) => ({
      ...rest,
      spec: { name, description, parameters },
    })),
    renamed: named.flatMap(({ renamed }) => (renamed === undefined ? [] : [renamed])),
  };
}

function convertOperation(entry: ListedOperation, context: ConversionContext): UnnamedOperation {
  try {
    return convertWith(entry, context, { keepsReferences: false, maxNodes: inlinedNodes });
  } catch (error) {
    if (!(error instanceof SchemaTooLarge)) throw error;
    return convertWith(entry, context, { keepsReferences: true, maxNodes: limits.schemaNodes });
  }
}

function convertWith(
  entry: ListedOperation,
  context: ConversionContext,
  size: { keepsReferences: boolean; maxNodes: number },
): UnnamedOperation {
  const { document, isRecursive, shared, security, spend } = context;
  const { method, path, pathItem, operation } = entry;
  const adapter = createSchemaAdapter({ document, isRecursive, shared, ...size });
  const warn = (message: string): void => {
    if (context.warnings.size < maxWarnings) context.warnings.add(shortened(`${nameOf(entry)}: ${message}`, warningCharacters));
  };
  const parts = readRequestParts(document, entry, spend);
  const planned = planParameters(parts.parameters, { adapter, path, credentials: security.withheld, warn, spend });
  const body = planBody(document, bodyOf(method, parts.requestBody, warn), { adapter, spend });
  const first = body?.arguments ?? [];
  const all = [...planned, ...first, ...(body === undefined ? [] : furtherArguments(body))];
  const names = nameArguments(all);
  const named = all.map((argument, index) => ({ ...argument, argument: names[index] ?? argument.name }));
  const bindings = named.slice(0, planned.length + first.length).map(({ schema: _schema, ...binding }): ArgumentBinding => binding);
  const alternatives = (body?.alternatives ?? []).map((type) => toAlternative(type, named));
  const serverPath = serverPathIn(operation) ?? serverPathIn(pathItem);
  if (serverPath !== undefined) context.warnings.add(otherServers);
  const tags = textsIn(ownValue(operation, 'tags'));
  return {
    operationId: entry.operationId,
    method,
    path,
    bindings,
    body: toBodyPlan(body?.plan, { bindings, alternatives }),
    description: describeOperation(document, entry, {
      needs: bodyNeeds(bindings, alternatives),
      choices: bodyChoices(bindings, alternatives),
      spend,
    }),
    parameters: toParameters(
      named.map((argument) => asOneOfAll(argument, body)),
      adapter,
    ),
    ...(tags.length > 0 && { tags }),
    ...withoutUndefined({ serverPath, security: security.alternativesFor(operation) }),
  };
}

/** Members that only other media types have, once each. */
function furtherArguments({ arguments: first, alternatives }: PlannedBody): PlannedArgument[] {
  const found = new Map<string, PlannedArgument>();
  for (const argument of alternatives.flatMap((type) => type.arguments))
    if (first.every(({ name }) => name !== argument.name) && !found.has(argument.name)) found.set(argument.name, argument);
  return [...found.values()];
}

function toAlternative(
  { plan, arguments: members }: PlannedBody['alternatives'][number],
  named: readonly ArgumentBinding[],
): BodyAlternative {
  const argumentOf = new Map(named.flatMap((binding) => (binding.in === 'body' ? [[binding.name, binding.argument] as const] : [])));
  return {
    plan,
    bindings: members.map(({ schema: _schema, ...binding }) => ({ ...binding, argument: argumentOf.get(binding.name) ?? binding.name })),
  };
}

/** A member is required of the function where each media type requires it, and has the values of each. */
function asOneOfAll<Argument extends ArgumentBinding & { schema: JsonObject }>(
  argument: Argument,
  body: PlannedBody | undefined,
): Argument {
  if (argument.in !== 'body' || body === undefined || body.alternatives.length === 0) return argument;
  const types = [body, ...body.alternatives].map((type) => type.arguments.find(({ name }) => name === argument.name));
  // Described once: the types say the same in other words.
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

/** Which arguments go together, one list a media type; nothing where there is one. */
function bodyChoices(bindings: readonly ArgumentBinding[], alternatives: readonly BodyAlternative[]): string[][] {
  if (alternatives.length === 0) return [];
  const first = bindings.filter((binding) => binding.in === 'body');
  return [first, ...alternatives.map((alternative) => alternative.bindings)].map((group) => group.map(({ argument }) => argument));
}

/** A function cannot require what only a body requires that may be left out: the description says it, of what each media type requires. */
function bodyNeeds(bindings: readonly ArgumentBinding[], alternatives: readonly BodyAlternative[]): string[] {
  const needsOf = (type: readonly ArgumentBinding[]): string[] =>
    type.filter(({ isRequiredInBody }) => isRequiredInBody === true).map(({ argument }) => argument);
  return needsOf(bindings).filter((name) => alternatives.every((type) => needsOf(type.bindings).includes(name)));
}

/** More tags, or longer ones, are no tags. */
function textsIn(value: JsonValue | undefined): string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((entry) => typeof entry === 'string' && entry.length <= warningCharacters).slice(0, maxWarnings) as string[];
}

/** OpenAPI gives a body on GET no meaning, and browsers cannot send one. */
function bodyOf(method: string, requestBody: JsonValue | undefined, warn: (message: string) => void): JsonValue | undefined {
  if (method !== 'GET' || requestBody === undefined) return requestBody;
  warn('The body of a GET request is not sent.');
  return undefined;
}

function toBodyPlan(
  plan: Omit<BodyPlan, 'argument'> | undefined,
  { bindings, alternatives }: { bindings: readonly ArgumentBinding[]; alternatives: BodyAlternative[] },
): BodyPlan | undefined {
  if (plan?.kind !== 'whole') return plan === undefined || alternatives.length === 0 ? plan : { ...plan, alternatives };
  const argument = bindings.find((binding) => binding.in === 'body')?.argument;
  return argument === undefined ? plan : { ...plan, argument };
}

/** `required` is always there: some servers of models refuse a function without it. */
function toParameters(named: readonly (ArgumentBinding & { schema: JsonObject })[], adapter: SchemaAdapter): JsonObject {
  const properties = Object.fromEntries(named.map(({ argument, schema }) => [argument, schema]));
  const required = named.filter(({ isRequired }) => isRequired).map(({ argument }) => argument);
  const hasDefinitions = Object.keys(adapter.definitions).length > 0;
  return shareDefinitions(
    { type: 'object', properties, required, ...(hasDefinitions ? { $defs: adapter.definitions } : {}) },
    componentName,
  );
}
