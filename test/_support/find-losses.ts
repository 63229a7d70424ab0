import { isJsonObject, ownValue } from '../../src/shared/json/json.ts';
import type { JsonObject, JsonValue } from '../../src/shared/json/json.ts';
import type { Operation } from '../../src/tools/definitions/operation.ts';
import { readRequestParts } from '../../src/tools/openapi/convert/read-request-parts.ts';
import { isReservedHeader } from '../../src/tools/openapi/request-rules.ts';
import { followReferences } from '../../src/tools/openapi/document/resolve-references.ts';
import { referenceOf } from '../../src/shared/json-schema/resolve.ts';

const spendNothing = (): void => undefined;
/** Deep enough to pass through everything that is not recursive in real documents. */
const maxDepth = 12;
const jsonTypes = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array']);

/** Where ours ends at the latest: an argument's description, and that of what stands within one. A text that ours has cut is at least half as long. */
const argumentCharacters = 1_024;
const partCharacters = 300;

/**
 * What a document says about an operation's request and its function does not: parameters, required fields, types, choices, and the words of each
 * description up to its largest length. Parameters that only a connection may send are no loss.
 * Written without the converter's own code for schemas, so that both would have to be wrong in the same way. Empty when nothing is lost.
 */
export function findLosses(document: JsonObject, operation: Operation): string[] {
  const paths = ownValue(document, 'paths') as JsonObject;
  const pathItem = followReferences(document, paths[operation.path] ?? paths[operation.path.slice(1)]) ?? {};
  const own = ownValue(pathItem, operation.method.toLowerCase()) as JsonObject;
  const { parameters, requestBody } = readRequestParts(document, { pathItem, operation: own }, spendNothing);
  const losses: string[] = [];
  const compare = createComparison(document, operation.spec.parameters, losses);
  const properties = operation.spec.parameters['properties'] as JsonObject;
  const required = operation.spec.parameters['required'] as string[];

  for (const parameter of parameters) {
    const place = operation.bindings.find(({ in: where, name }) => where === parameter['in'] && name === parameter['name']);
    if (place === undefined) {
      if (!isOfTheConnection(document, operation, parameter)) losses.push(`${operation.spec.name} has lost ${String(parameter['name'])}`);
      continue;
    }
    const where = `${operation.spec.name}: ${place.argument}`;
    const said = compare.resolved(properties[place.argument])['description'];
    if (!saysTheSame(parameter['description'], said, argumentCharacters)) losses.push(`${where} has lost words of its description`);
    if (parameter['required'] === true && !required.includes(place.argument)) losses.push(`${where} is no longer required`);
    compare.schemas({ theirs: ownValue(parameter, 'schema'), ours: properties[place.argument], where, depth: 0 });
  }
  compareBody({ operation, body: followReferences(document, requestBody) }, compare);
  return losses;
}

/** Credentials, headers that are never a model's to set, and path parameters that the path does not have. */
function isOfTheConnection(document: JsonObject, operation: Operation, parameter: JsonObject): boolean {
  const { in: place, name } = parameter;
  if (typeof name !== 'string' || name === '') return true;
  if (place === 'path') return !operation.path.includes(`{${name}}`);
  if (place === 'header' && isReservedHeader(name)) return true;
  const components = ownValue(document, 'components');
  const schemes =
    ownValue(document, 'securityDefinitions') ?? (isJsonObject(components) ? ownValue(components, 'securitySchemes') : undefined);
  return Object.values(isJsonObject(schemes) ? schemes : {}).some((scheme) => {
    const known = tryFollow(document, scheme);
    return known?.['type'] === 'apiKey' && known['in'] === place && String(known['name']).toLowerCase() === name.toLowerCase();
  });
}

/** Word for word, marks and addresses of links aside; a longer text may end with `…`. */
function saysTheSame(theirs: JsonValue | undefined, ours: JsonValue | undefined, maxCharacters: number): boolean {
  const wanted = typeof theirs === 'string' ? wordsOf(theirs) : [];
  if (wanted.length === 0) return true;
  if (typeof ours !== 'string') return false;
  const isCut = ours.trimEnd().endsWith('…') && ours.length > maxCharacters / 2;
  const said = wordsOf(ours);
  // Ours may say more behind it, of files and of choices.
  return isCut ? said.slice(0, -1).every((word, index) => word === wanted[index]) : wanted.every((word, index) => word === said[index]);
}

function wordsOf(text: string): string[] {
  const plain = text
    .replaceAll(/<\/?[a-z][a-z0-9]*(?:\s[^<>]*)?\/?>/gi, ' ')
    .replaceAll(/\[([^[\]]*)\]\((?:[^()]|\([^()]*\))*\)/g, '$1')
    .replaceAll(/^[ \t]*```.*$/gm, ' ');
  return plain.match(/[\p{L}\p{N}]+/gu) ?? [];
}

interface BodyPlace {
  operation: Operation;
  body: JsonObject | undefined;
}

function compareBody({ operation, body }: BodyPlace, compare: Comparison): void {
  const plan = operation.body;
  const content = body === undefined ? undefined : ownValue(body, 'content');
  if (plan === undefined || body === undefined || !isJsonObject(content)) return;
  const essence = (type: string): string => (type.split(';', 1)[0] ?? '').trim().toLowerCase();
  const media = Object.entries(content).find(([type]) => essence(type) === essence(plan.mediaType))?.[1] ?? Object.values(content)[0];
  const theirs = isJsonObject(media) ? ownValue(media, 'schema') : undefined;
  const { properties, required } = operation.spec.parameters as { properties: JsonObject; required: string[] };
  if (plan.kind === 'whole') {
    if (plan.argument === undefined) return;
    compare.schemas({ theirs, ours: properties[plan.argument], where: `${operation.spec.name}: ${plan.argument}`, depth: 0 });
    return;
  }
  const arguments_ = new Map(operation.bindings.filter((place) => place.in === 'body').map((place) => [place.name, place.argument]));
  const lifted = Object.fromEntries([...arguments_].map(([name, argument]) => [name, properties[argument]]));
  const isRequired = body['required'] === true;
  const needed = (/Required with a body: ([^ ]+(?:, [^ ]+)*)\./.exec(operation.spec.description)?.[1] ?? '').split(', ');
  // What only one of several media types requires, the request builder asks for.
  const byType = operation.bindings.flatMap((place) => (place.in === 'body' && place.isRequired ? [place.argument] : []));
  const requiredNow = plan.alternatives === undefined ? required : byType;
  const ours: JsonObject = {
    type: 'object',
    properties: lifted,
    // What only the body requires, because it may be left out, the description says.
    required: [...arguments_].filter(([, argument]) => (isRequired ? requiredNow : needed).includes(argument)).map(([name]) => name),
  };
  compare.schemas({ theirs, ours, where: operation.spec.name, depth: 0 });
}

interface Pair {
  theirs: JsonValue | undefined;
  ours: JsonValue | undefined;
  where: string;
  depth: number;
}

interface Comparison {
  schemas(pair: Pair): void;
  resolved(ours: JsonValue | undefined): JsonObject;
}

function createComparison(document: JsonObject, parameters: JsonObject, losses: string[]): Comparison {
  const definitions = ownValue(parameters, '$defs');

  const resolved = (ours: JsonValue | undefined): JsonObject => {
    const schema = isJsonObject(ours) ? ours : {};
    const reference = referenceOf(schema);
    if (reference === undefined || !isJsonObject(definitions)) return schema;
    const { $ref: _reference, ...beside } = schema;
    return { ...resolved(ownValue(definitions, reference.slice('#/$defs/'.length))), ...beside };
  };

  /** All schemas that together say what ours is: itself, what it is merged of, and the one of its choices that is not null. */
  const facets = (ours: JsonValue | undefined, depth = 0): JsonObject[] => {
    const schema = resolved(ours);
    if (depth > maxDepth) return [schema];
    return [schema, ...['allOf', 'anyOf'].flatMap((key) => listAt(schema, key)).flatMap((branch) => facets(branch, depth + 1))];
  };

  const schemas = ({ theirs, ours, where, depth }: Pair): void => {
    const schema = tryFollow(document, theirs);
    if (schema === undefined || depth > maxDepth) return;
    const beside = isJsonObject(theirs) && theirs !== schema ? listAt(theirs, 'allOf') : [];
    const branches = ['allOf', 'anyOf', 'oneOf'].flatMap((key) => listAt(schema, key));
    for (const branch of [...branches, ...beside]) schemas({ theirs: branch, ours, where, depth: depth + 1 });
    const all = facets(ours);
    const types = all.flatMap((facet) => [facet['type']].flat());
    const stated = [schema['type']].flat().filter((type) => typeof type === 'string' && jsonTypes.has(type));
    const isFile = schema['type'] === 'file' || schema['format'] === 'binary';
    for (const type of stated) {
      const isKept = types.includes(type) || (type === 'number' && types.includes('integer'));
      if (!isKept && !isFile && all.every((facet) => facet['enum'] === undefined && facet['const'] === undefined))
        losses.push(`${where} is no ${String(type)} any more`);
    }
    const choices = new Set(all.flatMap((facet) => [...listAt(facet, 'enum'), ...(facet['const'] === undefined ? [] : [facet['const']])]));
    const missing = listAt(schema, 'enum').filter(
      (choice) => (typeof choice !== 'object' || choice === null) && choice !== null && !choices.has(choice),
    );
    const isListed = all.some((facet) => typeof facet['description'] === 'string' && facet['description'].includes('too many to list'));
    if (missing.length > 0 && !isListed) losses.push(`${where} has lost the choices ${JSON.stringify(missing).slice(0, 80)}`);
    compareProperties(schema, all, { where, depth });
    for (const [key, name] of [
      ['items', '[]'],
      ['additionalProperties', '{}'],
    ] as const) {
      if (!isJsonObject(schema[key]) || Object.keys(schema[key]).length === 0) continue;
      const parts = all.map((facet) => facet[key]).filter(isJsonObject);
      if (parts.length === 0) losses.push(`${where} has lost its ${key}`);
      else schemas({ theirs: schema[key], ours: { anyOf: parts }, where: `${where}${name}`, depth: depth + 1 });
    }
  };

  const compareProperties = (schema: JsonObject, all: readonly JsonObject[], { where, depth }: Omit<Pair, 'theirs' | 'ours'>): void => {
    // Branches may each have a property of the same name.
    const known = new Map<string, JsonObject[]>();
    for (const properties of all.map((facet) => facet['properties']).filter(isJsonObject))
      for (const [name, property] of Object.entries(properties))
        known.set(name, [...(known.get(name) ?? []), ...(isJsonObject(property) ? [property] : [])]);
    const needed = new Set(all.flatMap((facet) => listAt(facet, 'required')));
    const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
    for (const [name, property] of Object.entries(properties)) {
      if (isReadOnly(document, property)) continue;
      const ours = known.get(name);
      if (ours === undefined) losses.push(`${where}.${name} is missing`);
      else if (listAt(schema, 'required').includes(name) && !needed.has(name)) losses.push(`${where}.${name} is no longer required`);
      else {
        const theirs = isJsonObject(property) ? property['description'] : undefined;
        const said = ours.map((one) => resolved(one)['description']);
        if (!said.some((text) => saysTheSame(theirs, text, partCharacters)))
          losses.push(`${where}.${name} has lost words of its description`);
        schemas({ theirs: property, ours: ours.length === 1 ? ours[0] : { anyOf: ours }, where: `${where}.${name}`, depth: depth + 1 });
      }
    }
  };

  return { schemas, resolved };
}

function isReadOnly(document: JsonObject, property: JsonValue | undefined): boolean {
  if (isJsonObject(property) && property['readOnly'] === true) return true;
  const target = tryFollow(document, property);
  if (target?.['readOnly'] === true) return true;
  const branches = [...listAt(target ?? {}, 'allOf'), ...(isJsonObject(property) ? listAt(property, 'allOf') : [])];
  return branches.some((branch) => tryFollow(document, branch)?.['readOnly'] === true);
}

function tryFollow(document: JsonObject, value: JsonValue | undefined): JsonObject | undefined {
  try {
    return followReferences(document, value);
  } catch {
    return undefined;
  }
}

function listAt(schema: JsonObject, key: string): JsonValue[] {
  const value = ownValue(schema, key);
  return Array.isArray(value) ? value : [];
}
