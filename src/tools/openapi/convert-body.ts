import { isJsonObject, ownValue } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import type { SchemaAdapter } from './adapt-schema.ts';
import type { PlannedArgument } from './convert-parameters.ts';
import { spendOnNames, type Spend } from './conversion-budget.ts';
import { OmittedOperation, type BodyPlan } from './operation.ts';
import { followReferences } from './resolve-references.ts';
import { describedAs, hasWords, shortened } from './schema-keywords.ts';

/** The body of an operation, and the arguments that make it. For a whole body there is one argument. */
export interface PlannedBody {
  plan: Omit<BodyPlan, 'argument'>;
  arguments: PlannedArgument[];
}

export const formType = 'application/x-www-form-urlencoded';
/** Longer ones no server means. */
const typeCharacters = 255;
const shownCharacters = 1_000;

/** The first that fits is sent: a merge patch is an object that a model can fill in, a JSON patch a list of instructions. */
const preferences: readonly RegExp[] = [
  /^application\/json$/,
  /^application\/merge-patch\+json$/,
  /^[^*]+(?<!json-patch)\+json$/,
  /^(?:text|application)\/(?:x-)?json$/,
  /^(?:\*|application)\/\*(?:\+json)?$/,
  /json$/,
];

/** @throws OmittedOperation when the operation needs a body that cannot be built. */
export function planBody(
  document: JsonObject,
  requestBody: JsonValue | undefined,
  { adapter, spend }: { adapter: SchemaAdapter; spend: Spend },
): PlannedBody | undefined {
  const body = followReferences(document, requestBody, spend);
  const content = body === undefined ? undefined : ownValue(body, 'content');
  const declared = isJsonObject(content) ? Object.keys(content) : [];
  if (body === undefined || !isJsonObject(content) || declared.length === 0) return undefined;
  spendOnNames(declared, spend);
  const isRequired = body['required'] === true;
  const types = declared.filter(isPrintable);
  const json = preferredJson(types);
  if (json !== undefined) return planJson(schemaIn(content, json), { mediaType: sentType(json), isRequired, body, adapter });
  const form = types.find((type) => essenceOf(type) === formType);
  const planned = form === undefined ? undefined : planForm(schemaIn(content, form), { mediaType: formType, isRequired, body, adapter });
  if (planned !== undefined || !isRequired) return planned;
  const names = shortened(types.map((type) => type.trim()).join(', '), shownCharacters);
  throw new OmittedOperation(`its body has to be ${names || 'of an unknown type'}; JSON and flat form bodies are supported`);
}

interface BodyContext {
  mediaType: string;
  isRequired: boolean;
  body: JsonObject;
  adapter: SchemaAdapter;
}

function planJson(schema: JsonValue | undefined, context: BodyContext): PlannedBody {
  const { mediaType, isRequired, adapter } = context;
  const root = adapter.adapt(schema);
  const properties = liftableProperties(root);
  if (properties === undefined) {
    const description = [root['description'], context.body['description']].find(hasWords);
    const described = description === undefined ? root : describedAs(root, description);
    return {
      plan: { mediaType, kind: 'whole', isRequired },
      arguments: [{ in: 'body', name: 'body', isRequired, schema: described }],
    };
  }
  return { plan: { mediaType, kind: 'properties', isRequired }, arguments: planProperties(properties, root, isRequired) };
}

function planForm(schema: JsonValue | undefined, context: BodyContext): PlannedBody | undefined {
  const root = context.adapter.adapt(schema);
  const properties = liftableProperties(root);
  const { mediaType, isRequired } = context;
  if (properties === undefined) return undefined;
  return { plan: { mediaType, kind: 'properties', isRequired }, arguments: planProperties(properties, root, isRequired) };
}

/** An optional body may be left out altogether, so none of its properties is required of the function. */
function planProperties(properties: JsonObject, root: JsonObject, isBodyRequired: boolean): PlannedArgument[] {
  const required = new Set(Array.isArray(root['required']) ? root['required'] : []);
  return Object.entries(properties).map(([name, schema]) => ({
    in: 'body',
    name,
    isRequired: isBodyRequired && required.has(name),
    schema: isJsonObject(schema) ? schema : {},
  }));
}

/**
 * The properties of an object whose description they are, with or without `type: object`. Nothing for choices between schemas and for maps: the
 * arguments of a function cannot say those.
 */
function liftableProperties(root: JsonObject): JsonObject | undefined {
  const types = [root['type']].flat();
  if (root['type'] !== undefined && !types.includes('object')) return undefined;
  if (['allOf', 'not', 'if', 'patternProperties', 'enum', 'const'].some((key) => root[key] !== undefined)) return undefined;
  if (Array.isArray(root['anyOf']) && !root['anyOf'].every(onlyRequires)) return undefined;
  if (!isJsonObject(root['properties'])) return root['additionalProperties'] === false ? {} : undefined;
  const isMap =
    Object.keys(root['properties']).length === 0 && root['additionalProperties'] !== undefined && root['additionalProperties'] !== false;
  return isMap ? undefined : root['properties'];
}

/** `anyOf: [{required: [a]}, {required: [b]}]` is a rule about properties that stand elsewhere; the server checks it. */
function onlyRequires(branch: JsonValue): boolean {
  return isJsonObject(branch) && Object.keys(branch).every((key) => key === 'required' || key === 'type' || key === 'description');
}

function preferredJson(types: readonly string[]): string | undefined {
  for (const preference of preferences) {
    const found = types.find((type) => preference.test(essenceOf(type)));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A header can hold it: spaces only beside a semicolon. */
function isPrintable(type: string): boolean {
  if (type.length > typeCharacters) return false;
  const trimmed = type.trim();
  return /^[\u0020-\u007e]+$/.test(trimmed) && !/[^; ] +[^; ]/.test(trimmed);
}

function essenceOf(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** A range of types is nothing to send. */
function sentType(declared: string): string {
  return declared.includes('*') ? 'application/json' : declared.trim();
}

function schemaIn(content: JsonObject, type: string): JsonValue | undefined {
  const media = ownValue(content, type);
  return isJsonObject(media) ? ownValue(media, 'schema') : undefined;
}
