import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import type { SchemaAdapter } from './schemas/adapt-schema.ts';
import type { PlannedArgument } from './convert-parameters.ts';
import { spendOnNames, type Spend } from '../conversion-budget.ts';
import { essenceOf, familyOf, formType, isRange, multipartType, preferredTypes } from '../media-types.ts';
import { OmittedOperation, type BodyPlan } from '../../definitions/operation.ts';
import { fileSchema, hasFile, isFileSchema, planFormFields } from './plan-form-fields.ts';
import { followReferences } from '../document/resolve-references.ts';
import { referenceOf } from '../../../shared/json-schema/resolve.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import { allowsNull, describedAs, hasWords, shortened, withNull } from './schemas/schema-keywords.ts';

/** The body of an operation, and the arguments that make it. For a whole body there is one argument. */
export interface PlannedBody {
  plan: Omit<BodyPlan, 'argument'>;
  arguments: PlannedArgument[];
  /** The schema of members beside the declared ones, where the body allows them. */
  additional?: JsonValue;
  /** Other media types of the same body whose members are not all among these. */
  alternatives: PlannedType[];
}

/** The body as one media type. */
type PlannedType = Omit<PlannedBody, 'alternatives'>;

/** More types with members of their own were never seen. */
const maxAlternatives = 3;

const shownCharacters = 1_000;

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
  const types = preferredTypes(declared);
  const context = { content, isRequired, body, adapter };
  const planned = planFirst(types, context);
  if (planned !== undefined) return { ...planned, alternatives: planAlternatives(planned, types, context) };
  if (!isRequired) return undefined;
  const names = shortened(types.map((type) => type.trim()).join(', '), shownCharacters);
  throw new OmittedOperation(`its body must be ${names || 'of an unknown type'}, and such a body cannot be built from arguments`);
}

interface BodyContext {
  content: JsonObject;
  isRequired: boolean;
  body: JsonObject;
  adapter: SchemaAdapter;
}

/** The first type of which a body can be made; a file cannot travel as JSON where it may travel as a part. */
function planFirst(types: readonly string[], context: BodyContext): PlannedType | undefined {
  const hasMultipart = types.some((type) => familyOf(type) === 'multipart');
  for (const type of types) {
    const read = readType(type, context);
    const needsParts = hasMultipart && familyOf(type) !== 'multipart' && read.properties !== undefined && hasFile(read.properties);
    const planned = needsParts ? undefined : planType(type, read);
    if (planned !== undefined) return planned;
  }
  return undefined;
}

/** Only media types whose body has members: a whole body of another type says no more than the first one. */
function planAlternatives(first: PlannedType, types: readonly string[], context: BodyContext): PlannedType[] {
  const alternatives: PlannedType[] = [];
  const known = new Set(first.arguments.map(({ name }) => name));
  // Most often all types have one schema, which need not be read again.
  if (first.plan.kind !== 'properties' || new Set(types.map((type) => schemaKey(context.content, type))).size < 2) return alternatives;
  for (const type of types) {
    if (alternatives.length >= maxAlternatives) break;
    const read = readType(type, context);
    const addsNone = first.additional !== undefined || additionalOf(read.root) === undefined;
    if (addsNone && Object.keys(read.properties ?? {}).every((name) => known.has(name))) continue;
    const planned = planType(type, read);
    if (planned?.plan.kind !== 'properties') continue;
    alternatives.push(planned);
    for (const { name } of planned.arguments) known.add(name);
  }
  return alternatives;
}

/** The same for types that refer to the same schema. */
function schemaKey(content: JsonObject, type: string): JsonValue | undefined {
  const { schema } = mediaType(content, type);
  return (isJsonObject(schema) ? referenceOf(schema) : undefined) ?? schema;
}

function mediaType(content: JsonObject, type: string): JsonObject {
  const media = ownValue(content, type);
  return isJsonObject(media) ? media : {};
}

interface TypeContext extends BodyContext {
  root: JsonObject;
  properties: JsonObject | undefined;
  encoding: JsonValue | undefined;
}

function readType(type: string, context: BodyContext): TypeContext {
  const { schema, encoding } = mediaType(context.content, type);
  const root = context.adapter.adapt(schema);
  return { ...context, root, properties: liftableProperties(root), encoding };
}

function planType(type: string, context: TypeContext): PlannedType | undefined {
  const { root } = context;
  const family = familyOf(type);
  const types = [root['type']].flat();
  const mayBeText = types.includes('string') || (root['type'] === undefined && root['anyOf'] === undefined && root['allOf'] === undefined);
  const mayBeObject = types.includes('object') || root['type'] === undefined;
  switch (family) {
    case 'json':
      return isRange(type) && isFileSchema(root)
        ? planFile(type, context)
        : planJson(isRange(type) ? 'application/json' : type.trim(), context);
    case 'form':
    case 'multipart':
      return mayBeObject ? planForm(family, context) : undefined;
    case 'yaml':
      // JSON is YAML (YAML 1.2, section 1.3), so that values can be sent under that name.
      return mayBeText ? planText(type, context) : planJson(type.trim(), context);
    case 'xml':
      return mayBeText ? planText(type, context) : undefined;
    case 'text':
      return planText(type, context);
    case 'file':
      return mayBeText ? planFile(type, context) : undefined;
  }
}

function planJson(mediaType: string, context: TypeContext): PlannedType {
  const { isRequired, properties, root } = context;
  if (properties === undefined) return planWhole({ mediaType, kind: 'whole', isRequired }, root, context);
  const planned = planProperties(properties, root, isRequired);
  const isPatch = essenceOf(mediaType) === 'application/merge-patch+json';
  const additional = additionalOf(root);
  return {
    plan: { mediaType, kind: 'properties', isRequired, ...(additional !== undefined && { further: {} }) },
    arguments: isPatch ? planned.map(removable) : planned,
    ...(additional !== undefined && { additional }),
  };
}

/** The schema of further members; undefined where they are not allowed in so many words: few bodies forbid them, and few take any. */
function additionalOf({ additionalProperties: additional }: JsonObject): JsonValue | undefined {
  return additional === false ? undefined : additional;
}

/** In a merge patch null takes a member away (RFC 7396 section 1), whatever the schema of the whole says. */
function removable(planned: PlannedArgument): PlannedArgument {
  return planned.isRequired || allowsNull(planned.schema) ? planned : { ...planned, schema: withNull(planned.schema) };
}

function planForm(format: 'form' | 'multipart', context: TypeContext): PlannedType {
  const { isRequired, properties, root, encoding } = context;
  const mediaType = format === 'form' ? formType : multipartType;
  if (properties === undefined) return planWhole({ mediaType, kind: 'whole', isRequired, format }, { ...root, type: 'object' }, context);
  const isMultipart = format === 'multipart';
  const fields = planFormFields(planProperties(properties, root, isRequired), encoding, isMultipart);
  const plan = { mediaType, kind: 'properties' as const, isRequired, format };
  const additional = additionalOf(root);
  if (additional === undefined) return { plan, arguments: fields };
  const any: PlannedArgument = { in: 'body', name: '', isRequired: false, schema: isJsonObject(additional) ? additional : {} };
  const [{ schema, style, explode, part } = any] = planFormFields([any], undefined, isMultipart);
  const further = withoutUndefined({ style, explode, part });
  return { plan: { ...plan, further }, arguments: fields, additional: isJsonObject(additional) ? schema : additional };
}

function planText(type: string, context: TypeContext): PlannedType {
  const { root, isRequired } = context;
  const mediaType = isRange(type) ? 'text/plain' : type.trim();
  return planWhole(
    { mediaType, kind: 'whole', isRequired, format: 'text' },
    root['type'] === undefined ? { ...root, type: 'string' } : root,
    context,
  );
}

function planFile(type: string, context: TypeContext): PlannedType {
  const { isRequired } = context;
  return planWhole({ mediaType: type.trim(), kind: 'whole', isRequired, format: 'file' }, fileSchema(context.root), context);
}

/** The body is one argument. */
function planWhole(plan: Omit<BodyPlan, 'argument'>, root: JsonObject, { body, isRequired }: TypeContext): PlannedType {
  const description = [root['description'], body['description']].find(hasWords);
  const schema = description === undefined ? root : describedAs(root, description);
  return { plan, arguments: [{ in: 'body', name: 'body', isRequired, schema }] };
}

/** An optional body may be left out altogether, so none of its properties is required of the function; only of the body. */
function planProperties(properties: JsonObject, root: JsonObject, isBodyRequired: boolean): PlannedArgument[] {
  const required = new Set(Array.isArray(root['required']) ? root['required'] : []);
  return Object.entries(properties).map(([name, schema]) => ({
    in: 'body',
    name,
    isRequired: isBodyRequired && required.has(name),
    ...(!isBodyRequired && required.has(name) && { isRequiredInBody: true as const }),
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
  const { properties, additionalProperties: more } = root;
  if (!isJsonObject(properties)) return more === false ? {} : undefined;
  const isMap = Object.keys(properties).length === 0 && more !== undefined && more !== false;
  return isMap ? undefined : properties;
}

/** `anyOf: [{required: [a]}, {required: [b]}]` is a rule about properties that stand elsewhere; the server checks it. */
function onlyRequires(branch: JsonValue): boolean {
  return isJsonObject(branch) && Object.keys(branch).every((key) => key === 'required' || key === 'type' || key === 'description');
}
