/** The parts of JSON Schema that forms support. Everything else is edited as JSON. */
export interface JsonSchema {
  type?: string | readonly string[];
  title?: string;
  description?: string;
  default?: unknown;
  examples?: readonly unknown[];
  enum?: readonly unknown[];
  enumNames?: readonly string[];
  const?: unknown;
  oneOf?: readonly JsonSchema[];
  anyOf?: readonly JsonSchema[];
  allOf?: readonly JsonSchema[];
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  items?: JsonSchema | boolean;
  additionalProperties?: JsonSchema | boolean;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  writeOnly?: boolean;
  $ref?: string;
  $defs?: Readonly<Record<string, JsonSchema>>;
  definitions?: Readonly<Record<string, JsonSchema>>;
}

export interface EnumOption {
  value: unknown;
  label: string;
}

/** The kind of form field for a value. */
export type Field =
  | { kind: 'text'; isLong: boolean; inputType: string }
  | { kind: 'number'; isWhole: boolean }
  | { kind: 'moment' }
  | { kind: 'flag' }
  | { kind: 'choice'; choices: readonly EnumOption[] }
  | { kind: 'choices'; choices: readonly EnumOption[] }
  | { kind: 'list'; items: JsonSchema }
  | { kind: 'object'; properties: Readonly<Record<string, JsonSchema>>; required: readonly string[] }
  | { kind: 'json' };

/** The limit for circular references. */
const maxReferences = 8;
/** The depth of nested objects. Deeper ones are edited as JSON. */
export const maxFormDepth = 5;

const inputTypes: Readonly<Record<string, string>> = {
  email: 'email',
  uri: 'url',
  url: 'url',
  date: 'date',
  time: 'time',
  password: 'password',
};

/** Follows `$ref` within the root, and takes the only alternative that is not null. */
export function resolveSchema(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let found = schema;
  for (let step = 0; step < maxReferences; step++) {
    const { $ref, ...rest } = found;
    const alternatives = (found.anyOf ?? found.oneOf ?? []).filter(({ type }) => type !== 'null');
    if ($ref !== undefined) found = { ...lookUp($ref, root), ...rest };
    else if (alternatives.length === 1 && found.type === undefined && found.properties === undefined) {
      const { anyOf: _any, oneOf: _one, ...own } = found;
      found = { ...alternatives[0], ...own };
    } else if (found.allOf?.length === 1) {
      const {
        allOf: [only],
        ...own
      } = found;
      found = { ...only, ...own };
    } else return found;
  }
  return {};
}

function lookUp(reference: string, root: JsonSchema): JsonSchema {
  if (!reference.startsWith('#/')) return reference === '#' ? root : {};
  let found: unknown = root;
  for (const step of reference.slice(2).split('/')) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, name) ? (found as Record<string, unknown>)[name] : undefined;
  }
  return typeof found === 'object' && found !== null ? found : {};
}

/** `schema` must be resolved. */
export function fieldOf(schema: JsonSchema, root: JsonSchema, depth = 0): Field {
  const choices = choicesOf(schema);
  if (choices !== undefined) return { kind: 'choice', choices };
  const type = typeOf(schema);
  if (type === 'string' && schema.format === 'date-time') return { kind: 'moment' };
  if (type === 'string') return { kind: 'text', isLong: isLong(schema), inputType: inputTypes[schema.format ?? ''] ?? 'text' };
  if (type === 'number' || type === 'integer') return { kind: 'number', isWhole: type === 'integer' };
  if (type === 'boolean') return { kind: 'flag' };
  if (type === 'array' && typeof schema.items === 'object' && depth < maxFormDepth) {
    const items = resolveSchema(schema.items, root);
    const several = choicesOf(items);
    return several === undefined ? { kind: 'list', items } : { kind: 'choices', choices: several };
  }
  if (type === 'object' && depth < maxFormDepth && schema.properties !== undefined && !isMap(schema))
    return { kind: 'object', properties: schema.properties, required: schema.required ?? [] };
  return { kind: 'json' };
}

/** An object with arbitrary names. */
function isMap({ properties = {}, additionalProperties = false }: JsonSchema): boolean {
  return additionalProperties !== false && Object.keys(properties).length === 0;
}

function choicesOf(schema: JsonSchema): EnumOption[] | undefined {
  if (schema.enum !== undefined) return schema.enum.map((value, index) => ({ value, label: schema.enumNames?.[index] ?? labelOf(value) }));
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives === undefined || !alternatives.every((one) => 'const' in one)) return undefined;
  return alternatives.map((one) => ({ value: one.const, label: one.title ?? labelOf(one.const) }));
}

function labelOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function typeOf({ type, properties, anyOf, oneOf, allOf }: JsonSchema): string | undefined {
  if (anyOf !== undefined || oneOf !== undefined || allOf !== undefined) return undefined;
  if (typeof type === 'string') return type;
  const types = type?.filter((name) => name !== 'null') ?? [];
  if (types.length === 1) return types[0];
  return type === undefined && properties !== undefined ? 'object' : undefined;
}

function isLong({ maxLength, format, title = '', description = '' }: JsonSchema): boolean {
  return (
    format === undefined &&
    ((maxLength ?? 0) > 200 || /\b(?:text|body|content|message|query|code|prompt)\b/i.test(`${title} ${description}`))
  );
}

/** The initial value of a form: defaults, and empty values of required fields, such as an unchecked box. */
export function initialValue(given: JsonSchema, root: JsonSchema = given, depth = 0): unknown {
  const schema = resolveSchema(given, root);
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  const field = fieldOf(schema, root, depth);
  if (field.kind === 'flag') return false;
  if (field.kind === 'list' || field.kind === 'choices') return [];
  if (field.kind !== 'object') return undefined;
  const entries = Object.entries(field.properties).flatMap(([name, property]) => {
    const isNeeded = field.required.includes(name);
    const value = isNeeded || resolveSchema(property, root).default !== undefined ? initialValue(property, root, depth + 1) : undefined;
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(entries);
}
