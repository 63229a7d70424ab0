import { ownValue } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';
import { uniqueNames } from '../name-functions.ts';
import { createSchemaAdapter, SchemaTooLarge, type SchemaAdapter, type SharedAdaptation } from './adapt-schema.ts';
import { planBody } from './convert-body.ts';
import { credentialPlaces, planParameters } from './convert-parameters.ts';
import { createRecursionFinder, type RecursionFinder } from './find-recursion.ts';
import { nameArguments } from './name-arguments.ts';
import { OmittedOperation, type ArgumentPlace, type BodyPlan, type Conversion, type Operation } from './operation.ts';
import { listOperations, type ListedOperation } from './list-operations.ts';
import { readRequestParts } from './read-request-parts.ts';
import { shortened } from './schema-keywords.ts';

export type { ArgumentPlace, BodyPlan, Conversion, Operation } from './operation.ts';

/** Beyond this a function's schemas are written as definitions, which says the same in a tenth of the tokens. */
const inlinedNodes = 2_000;
/** Schemas that are adapted for all functions together, at worst two seconds of work; the largest that was measured needs a thirtieth. */
const documentNodes = 1_000_000;
const otherServers = 'Servers that single paths or operations name are not used: all are addressed at the URL of this connection.';
/** A report is read by people. */
const maxWarnings = 100;

/** What stays the same for all operations of a document. */
interface ConversionContext {
  document: JsonObject;
  isRecursive: RecursionFinder;
  credentials: ReadonlySet<string>;
  shared: SharedAdaptation;
  warnings: Set<string>;
}

type UnnamedOperation = Omit<Operation, 'spec'> & { description: string; parameters: JsonObject };

/** Every operation of a document as a function. Never throws: an operation that cannot be converted is reported with the reason. */
export function convertOperations(document: JsonObject): Conversion {
  const { listed, omitted } = listOperations(document);
  const context: ConversionContext = {
    document,
    isRecursive: createRecursionFinder(document),
    credentials: credentialPlaces(document),
    shared: { nodesLeft: documentNodes, inlined: new Map() },
    warnings: new Set(),
  };
  const converted: UnnamedOperation[] = [];
  for (const [index, entry] of listed.entries()) {
    if (index >= limits.operations) {
      omitted.push({ operation: nameOf(entry), reason: `the document has more than ${limits.operations} operations` });
      continue;
    }
    try {
      converted.push(convertOperation(entry, context));
    } catch (error) {
      if (!(error instanceof OmittedOperation)) throw error;
      omitted.push({ operation: nameOf(entry), reason: error.message });
    }
  }
  return { ...nameOperations(converted), omitted, warnings: [...context.warnings].slice(0, maxWarnings) };
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
  const { document, isRecursive, shared, credentials } = context;
  const { method, path, pathItem, operation } = entry;
  const adapter = createSchemaAdapter({ document, isRecursive, shared, ...size });
  const warn = (message: string): void => {
    context.warnings.add(`${nameOf(entry)}: ${message}`);
  };
  const parts = readRequestParts(document, pathItem, operation);
  const planned = planParameters(parts.parameters, { adapter, path, credentials, warn });
  const body = planBody(document, bodyOf(method, parts.requestBody, warn), adapter);
  const all = [...planned, ...(body?.arguments ?? [])];
  const names = nameArguments(all);
  const named = all.map((argument, index) => ({ ...argument, argument: names[index] ?? argument.name }));
  const places = named.map(({ schema: _schema, ...place }): ArgumentPlace => place);
  if (operation['servers'] !== undefined || pathItem['servers'] !== undefined) context.warnings.add(otherServers);
  return {
    operationId: entry.operationId,
    method,
    path,
    places,
    body: toBodyPlan(body?.plan, places),
    description: describe(operation, nameOf(entry)),
    parameters: toParameters(named, adapter),
  };
}

/** OpenAPI gives a body on GET no meaning, and browsers cannot send one. */
function bodyOf(method: string, requestBody: JsonValue | undefined, warn: (message: string) => void): JsonValue | undefined {
  if (method !== 'GET' || requestBody === undefined) return requestBody;
  warn('The body of a GET request is not sent.');
  return undefined;
}

function toBodyPlan(plan: Omit<BodyPlan, 'argument'> | undefined, places: readonly ArgumentPlace[]): BodyPlan | undefined {
  if (plan?.kind !== 'whole') return plan;
  const argument = places.find((place) => place.in === 'body')?.argument;
  return argument === undefined ? plan : { ...plan, argument };
}

/** `required` is always there: some servers of models refuse a function without it. */
function toParameters(named: readonly (ArgumentPlace & { schema: JsonObject })[], adapter: SchemaAdapter): JsonObject {
  const properties = Object.fromEntries(named.map(({ argument, schema }) => [argument, schema]));
  const required = named.filter(({ isRequired }) => isRequired).map(({ argument }) => argument);
  const hasDefinitions = Object.keys(adapter.definitions).length > 0;
  return { type: 'object', properties, required, ...(hasDefinitions ? { $defs: adapter.definitions } : {}) };
}

function describe(operation: JsonObject, name: string): string {
  const texts = [ownValue(operation, 'description'), ownValue(operation, 'summary')];
  const text = texts.find((candidate) => typeof candidate === 'string' && candidate.trim() !== '');
  return shortened(typeof text === 'string' ? text : name);
}
