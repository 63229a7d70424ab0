import { documentChainKey, readChain, whyLooped } from '../../../core/tools/gateway-chain.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { createSecretMask, type SecretMask } from '../../../shared/secrets/secret-mask.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import { tokensOfDefinition, wordsOfParameters } from '../../definitions/lazy-spec.ts';
import { uniqueNames } from '../../definitions/name-functions.ts';
import { SchemaAdapter } from './schemas/adapt-schema.ts';
import type { SharedAdaptation } from './schemas/adapter-options.ts';
import { componentName } from './schemas/component-names.ts';
import { SchemaTooLarge } from './schemas/count-nodes.ts';
import { asOneOfAll, bodyChoices, bodyNeeds, furtherArguments, toAlternative, toBodyPlan } from './combine-media-types.ts';
import { acceptedTypes } from './accepted-types.ts';
import { planBody, type PlannedBody } from './convert-body.ts';
import { planParameters } from './convert-parameters.ts';
import {
  createRegisteredBudget,
  isSparing,
  operationNodes,
  outgrownReason,
  spendFrom,
  spentReason,
  type ConversionBudget,
  type Spend,
} from '../conversion-budget.ts';
import { describeOperation } from './describe-operation.ts';
import { createKindFinder } from './schemas/discriminator-kinds.ts';
import { createRecursionFinder, type RecursionFinder } from './schemas/find-recursion.ts';
import { definitionsIn, openDefinition, functionCharacters } from './schemas/gather-definitions.ts';
import { nameArguments } from './name-arguments.ts';
import { OmittedOperation, type ArgumentBinding, type Conversion, type Operation } from '../../definitions/operation.ts';
import { explainNoOperations, listOperations, tooManyOperations, type ListedOperation } from './list-operations.ts';
import {
  createSchemaPacker,
  unpackConversion,
  type PackedConversion,
  type PackedOperation,
  type SchemaPacker,
} from './schemas/packed-schemas.ts';
import { readRequestParts } from './read-request-parts.ts';
import { readSecurity, type SecuritySchemes } from './read-security.ts';
import { shortened } from './schemas/schema-keywords.ts';
import { shareDefinitions } from './schemas/share-definitions.ts';
import { createSharedDefinitions, type SharedDefinitions } from './schemas/shared-definitions.ts';
import { serverPathIn } from '../document/server-base-url.ts';

export type { ArgumentBinding, BodyPlan, Conversion, Operation } from '../../definitions/operation.ts';

/** Beyond one of these a function's schemas are written as definitions. */
const writtenOutNodes = 2_000;
const writtenOutCharacters = 200_000;
/** Words of the arguments of one function that are searched. */
const wordsCharacters = 4_000;
/** Characters of the frame of all definitions: `,"$defs":{}`. */
const definitionsFrame = 11;
const otherServers =
  'Single paths or operations name servers. Only the paths of these are used: all requests go to the origin of this connection.';
/** A report is read by people. */
const maxWarnings = 100;
const warningCharacters = 1_000;

/** State that all operations of a document share. */
interface ConversionContext {
  document: JsonObject;
  isRecursive: RecursionFinder;
  security: SecuritySchemes;
  shared: SharedAdaptation;
  definitions: SharedDefinitions;
  packer: SchemaPacker;
  mask: SecretMask;
  spend: Spend;
  warnings: Set<string>;
}

interface ConversionOptions {
  /** Shared by whatever is converted together; without it the document has one of its own. */
  budget?: ConversionBudget;
  /** For what must not be shown. It may change the name of an operation, which is called by method and path. */
  mask?: SecretMask;
  /** This gateway's own id: what comes through it is left out. */
  gatewayId?: string;
}

type UnpackedOperation = Omit<Operation, 'spec'> & { description: string; parameters: JsonObject };
/** `characters`: of the whole schema. */
interface Converted {
  operation: Omit<PackedOperation, 'name' | 'tokens'>;
  characters: number;
}

/** Every operation of a document as a function. Never throws: an operation that cannot be converted is reported with the reason. */
export function convertOperations(document: JsonObject, options: ConversionOptions = {}): Conversion {
  return unpackConversion(packOperations(document, options));
}

/** The same, as it is posted from a thread and kept. */
export function packOperations(document: JsonObject, options: ConversionOptions = {}): PackedConversion {
  const { budget = createRegisteredBudget(), mask = createSecretMask([]), gatewayId = '' } = options;
  const spend = spendFrom(budget);
  const { listed, omitted } = listOperations(document, spend);
  const kinds = createKindFinder(document, spend);
  const shared: SharedAdaptation = { budget, kinds, inlined: new Map(), recursive: new Map(), leastNodes: new Map() };
  const isRecursive = createRecursionFinder(document, budget);
  const packer = createSchemaPacker(budget);
  const context: ConversionContext = {
    document,
    isRecursive,
    security: readSecurity(document, spend),
    shared,
    definitions: createSharedDefinitions({ document, isRecursive, shared }, { packer, mask }),
    packer,
    mask,
    spend,
    warnings: new Set(),
  };
  const cutReasons = new Set([spentReason, outgrownReason, tooManyOperations]);
  const converted: Converted[] = [];
  for (const entry of listed) {
    const reason =
      whyLooped(gatewaysOf(entry), gatewayId) ?? tryConvert({ ...entry, operationId: mask.text(entry.operationId) }, context, converted);
    if (reason !== undefined) omitted.push({ operation: nameOf(entry), reason });
  }
  const cut = omitted.filter(({ reason }) => cutReasons.has(reason));
  const [first] = cut;
  return {
    ...nameOperations(converted),
    omitted,
    warnings: listed.length + omitted.length === 0 ? [explainNoOperations(document)] : [...context.warnings],
    ...(first !== undefined && { cut: { count: cut.length, reason: first.reason } }),
    schemas: packer.finish(context.definitions.directory),
  };
}

/** Adds to `converted`, or returns the reason why not. */
function tryConvert(entry: ListedOperation, context: ConversionContext, converted: Converted[]): string | undefined {
  // Cheaper than to find it out by an error for each of many thousand operations.
  if (context.shared.budget.nodesLeft < operationNodes) return spentReason;
  try {
    context.spend(operationNodes);
    converted.push(convertOperation(entry, context));
    return undefined;
  } catch (error) {
    if (!(error instanceof OmittedOperation)) throw error;
    return error.message;
  }
}

/** The gateways that an operation of another gateway comes through. */
function gatewaysOf({ operation }: ListedOperation): string[] {
  return readChain(operation, documentChainKey) ?? [];
}

function nameOf({ method, path }: { method: string; path: string }): string {
  return `${method} ${path}`;
}

function nameOperations(converted: readonly Converted[]): Pick<PackedConversion, 'operations' | 'renamed'> {
  const wishes = converted.map((entry) => ({ wanted: entry.operation.operationId, key: nameOf(entry.operation), entry }));
  const named = uniqueNames(wishes, new Set());
  return {
    operations: named.map(({ name, entry: { operation, characters } }) => {
      const { description } = operation;
      return { ...operation, name, tokens: tokensOfDefinition({ name, description }, characters) };
    }),
    renamed: named.flatMap(({ renamed }) => (renamed === undefined ? [] : [renamed])),
  };
}

/** With its schemas written out where that is short; else they refer to definitions, which says the same in a tenth of the tokens. */
function convertOperation(entry: ListedOperation, context: ConversionContext): Converted {
  return convertWrittenOut(entry, context) ?? convertShared(entry, context);
}

function convertWrittenOut(entry: ListedOperation, context: ConversionContext): Converted | undefined {
  const { document, isRecursive, shared } = context;
  if (isSparing(shared.budget)) return undefined;
  try {
    const adapter = new SchemaAdapter({ document, isRecursive, shared, keepsReferences: false, maxNodes: writtenOutNodes });
    const operation = convertWith(entry, context, adapter);
    const hasDefinitions = Object.keys(adapter.definitions).length > 0;
    const whole = { ...operation.parameters, ...(hasDefinitions && { $defs: adapter.definitions }) };
    const parameters = context.mask.value(shareDefinitions(whole, componentName));
    const text = JSON.stringify(parameters);
    return text.length > writtenOutCharacters ? undefined : packed({ ...operation, parameters, text }, context);
  } catch (error) {
    if (error instanceof SchemaTooLarge) return undefined;
    throw error;
  }
}

function convertShared(entry: ListedOperation, context: ConversionContext): Converted {
  const operation = convertWith(entry, context, context.definitions.adapter);
  const { parameters, text } = withinCharacters(context.mask.value(operation.parameters));
  const names = definitionsIn(parameters);
  const { characters } = context.definitions.gather(names, text.length);
  const own = packed({ ...operation, parameters, text }, context);
  if (names.length === 0) return own;
  return { operation: { ...own.operation, sharesDefinitions: true }, characters: own.characters + definitionsFrame + characters };
}

/** Arguments for which there is no room take any value, the largest first. */
function withinCharacters(parameters: JsonObject): { parameters: JsonObject; text: string } {
  const text = JSON.stringify(parameters);
  const { properties } = parameters;
  if (text.length <= functionCharacters || !isJsonObject(properties)) return { parameters, text };
  const sizes = Object.entries(properties).map(([name, schema]) => ({ name, schema, characters: JSON.stringify(schema)?.length ?? 0 }));
  let tooMany = text.length - functionCharacters;
  const open = new Set<string>();
  for (const { name, characters } of sizes.toSorted((a, b) => b.characters - a.characters)) {
    if (tooMany <= 0) break;
    open.add(name);
    tooMany -= characters;
  }
  const kept = Object.fromEntries(sizes.map(({ name, schema }) => [name, open.has(name) ? openDefinition : schema]));
  const within = { ...parameters, properties: kept };
  return { parameters: within, text: JSON.stringify(within) };
}

/** `text`: its parameters as JSON. */
function packed({ parameters, text, ...operation }: UnpackedOperation & { text: string }, { packer, mask }: ConversionContext): Converted {
  const words = wordsOfParameters(parameters, wordsCharacters);
  const description = mask.text(operation.description);
  const pieces = { parameters: packer.pack(text), words: packer.pack(words) };
  return { operation: { ...operation, description, ...pieces, sharesDefinitions: false }, characters: text.length };
}

function convertWith(entry: ListedOperation, context: ConversionContext, adapter: SchemaAdapter): UnpackedOperation {
  const { document, security, spend } = context;
  const { method, path, pathItem, operation } = entry;
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
  const gateways = gatewaysOf(entry);
  const accepts = acceptedTypes(document, operation, spend);
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
      additionalOf(body),
    ),
    ...(tags.length > 0 && { tags }),
    ...(gateways.length > 0 && { gateways }),
    ...(accepts.length > 0 && { accepts }),
    ...withoutUndefined({ serverPath, security: security.alternativesFor(operation) }),
  };
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

/** `required` is always there: some servers of models refuse a function without it. */
function toParameters(named: readonly (ArgumentBinding & { schema: JsonObject })[], additional: JsonValue | undefined): JsonObject {
  const properties = Object.fromEntries(named.map(({ argument, schema }) => [argument, schema]));
  const required = named.filter(({ isRequired }) => isRequired).map(({ argument }) => argument);
  return { type: 'object', properties, required, ...(additional !== undefined && { additionalProperties: additional }) };
}

/** The schema of further members: one schema if all media types agree, otherwise any value. */
function additionalOf(body: PlannedBody | undefined): JsonValue | undefined {
  const stated = (body === undefined ? [] : [body, ...body.alternatives]).flatMap(({ additional }) => additional ?? []);
  const [first] = stated;
  return stated.every((schema) => JSON.stringify(schema) === JSON.stringify(first)) ? first : true;
}
