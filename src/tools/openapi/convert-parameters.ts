import { isJsonObject, ownValue } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import type { SchemaAdapter } from './adapt-schema.ts';
import { spendOnValue, type Spend } from './conversion-budget.ts';
import { OmittedOperation, type ArgumentPlace, type ParameterStyle } from './operation.ts';
import { isReservedHeader } from './reserved-headers.ts';
import { followReferences } from './resolve-references.ts';
import { describedAs, hasWords, shortened } from './schema-keywords.ts';

/** An argument before it has a name of its own. */
export interface PlannedArgument extends Omit<ArgumentPlace, 'argument'> {
  schema: JsonObject;
}

export interface ParameterContext {
  adapter: SchemaAdapter;
  /** The path template. */
  path: string;
  /** Keys that the connection sends, as `header:x-api-key`; a model has none to give. */
  credentials: ReadonlySet<string>;
  warn: (message: string) => void;
  spend: Spend;
}

const places = new Set(['path', 'query', 'header', 'cookie']);
const styles = new Set<string>(['simple', 'label', 'matrix', 'form', 'spaceDelimited', 'pipeDelimited', 'deepObject']);
/** RFC 9110 section 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The arguments that an operation's parameters become, path variables that nobody declared among them. */
export function planParameters(parameters: readonly JsonObject[], context: ParameterContext): PlannedArgument[] {
  const variables = new Set(pathVariables(context.path));
  context.spend(variables.size);
  const planned = parameters.map((parameter) => planParameter(parameter, variables, context)).filter((plan) => plan !== undefined);
  const declared = new Set(planned.filter((plan) => plan.in === 'path').map((plan) => plan.name));
  const missing = [...variables].filter((name) => !declared.has(name));
  return [...planned, ...missing.map((name): PlannedArgument => ({ in: 'path', name, isRequired: true, schema: { type: 'string' } }))];
}

export function pathVariables(path: string): string[] {
  return Array.from(path.matchAll(/\{([^{}]+)\}/g), ([, name]) => name ?? '');
}

function planParameter(parameter: JsonObject, variables: ReadonlySet<string>, context: ParameterContext): PlannedArgument | undefined {
  const name = ownValue(parameter, 'name');
  const place = ownValue(parameter, 'in');
  if (typeof name !== 'string' || name === '' || typeof place !== 'string' || !places.has(place)) {
    spendOnValue(parameter, context.spend);
    context.warn(`A parameter without a known name and place was left out: ${shortened(JSON.stringify(parameter), 120)}`);
    return undefined;
  }
  if (place === 'path' && !variables.has(name)) {
    context.warn(`The path parameter "${name}" was left out: the path does not contain {${name}}.`);
    return undefined;
  }
  if (isWithheld(place, name, context.credentials)) return undefined;
  const content = ownValue(parameter, 'content');
  if (isJsonObject(content)) context.spend(Object.keys(content).length);
  const isRequired = place === 'path' || parameter['required'] === true;
  if ((place === 'header' || place === 'cookie') && !token.test(name)) {
    if (isRequired) throw new OmittedOperation(`the required ${place} "${name}" has a name that cannot be sent`);
    context.warn(`The ${place} "${name}" was left out: its name cannot be sent.`);
    return undefined;
  }
  return { in: place as ArgumentPlace['in'], name, isRequired, ...wireForm(parameter), schema: schemaOf(parameter, context.adapter) };
}

/** Credentials and what belongs to the transport are the connection's to send, never the model's. */
function isWithheld(place: string, name: string, credentials: ReadonlySet<string>): boolean {
  return credentials.has(`${place}:${name.toLowerCase()}`) || (place === 'header' && isReservedHeader(name));
}

/** Only what the document states: the defaults are the place's, and objects are written differently when nothing is stated. */
function wireForm(parameter: JsonObject): { style?: ParameterStyle; explode?: boolean } {
  if (contentOf(parameter) !== undefined) return { style: 'json' };
  const { style, explode } = parameter;
  return {
    ...(typeof style === 'string' && styles.has(style) ? { style: style as ParameterStyle } : {}),
    ...(typeof explode === 'boolean' ? { explode } : {}),
  };
}

function schemaOf(parameter: JsonObject, adapter: SchemaAdapter): JsonObject {
  const declared = contentOf(parameter) ?? parameter;
  const schema = adapter.adapt(ownValue(declared, 'schema') ?? { type: 'string' });
  const { description } = parameter;
  return hasWords(description) ? describedAs(schema, description) : schema;
}

/** A parameter may have a media type instead of a style: its value is that text, in practice JSON. */
function contentOf(parameter: JsonObject): JsonObject | undefined {
  const content = ownValue(parameter, 'content');
  const [first]: (JsonValue | undefined)[] = isJsonObject(content) ? Object.values(content) : [];
  return isJsonObject(first) ? first : undefined;
}

/** The places of all API keys that the document's security schemes name. */
export function credentialPlaces(document: JsonObject, spend: Spend): Set<string> {
  const components = ownValue(document, 'components');
  const schemes =
    ownValue(document, 'securityDefinitions') ?? (isJsonObject(components) ? ownValue(components, 'securitySchemes') : undefined);
  const found = new Set<string>();
  for (const entry of isJsonObject(schemes) ? Object.values(schemes) : []) {
    spend(1);
    const scheme = tryFollow(document, entry, spend);
    for (const key of ['in', 'name']) spendOnValue(scheme?.[key], spend);
    if (scheme?.['type'] !== 'apiKey' || typeof scheme['name'] !== 'string' || typeof scheme['in'] !== 'string') continue;
    found.add(`${scheme['in']}:${scheme['name'].toLowerCase()}`);
  }
  return found;
}

/** A scheme that cannot be found withholds nothing; no operation depends on it. */
function tryFollow(document: JsonObject, entry: JsonValue | undefined, spend: Spend): JsonObject | undefined {
  try {
    return followReferences(document, entry, spend);
  } catch {
    return undefined;
  }
}
