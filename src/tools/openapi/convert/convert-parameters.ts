import { isJsonObject, ownValue, type JsonObject } from '../../../shared/json/json.ts';
import type { SchemaAdapter } from './schemas/adapt-schema.ts';
import { spendOnValue, type Spend } from '../conversion-budget.ts';
import { OmittedOperation, type ArgumentBinding, type ParameterStyle } from '../../definitions/operation.ts';
import { isReservedHeader, isToken } from '../request-rules.ts';
import { describedAs, hasWords, shortened } from './schemas/schema-keywords.ts';

/** An argument before it has a name of its own. */
export interface PlannedArgument extends Omit<ArgumentBinding, 'argument'> {
  schema: JsonObject;
}

interface ParameterContext {
  adapter: SchemaAdapter;
  /** The path template. */
  path: string;
  /** Keys that the connection sends, as `header:x-api-key`; they are no arguments. */
  credentials: ReadonlySet<string>;
  warn: (message: string) => void;
  spend: Spend;
}

const locations = new Set(['path', 'query', 'querystring', 'header', 'cookie']);
/** A style of another location is a mistake of the author, and the location's default is used. */
const stylesOf: Record<string, ReadonlySet<string>> = {
  path: new Set(['simple', 'label', 'matrix', 'spaceDelimited', 'pipeDelimited', 'tabDelimited']),
  query: new Set(['form', 'spaceDelimited', 'pipeDelimited', 'tabDelimited', 'deepObject']),
  header: new Set(['simple', 'spaceDelimited', 'pipeDelimited', 'tabDelimited']),
  cookie: new Set(['form', 'cookie']),
};

/** The arguments that an operation's parameters become, undeclared path variables among them. */
export function planParameters(parameters: readonly JsonObject[], context: ParameterContext): PlannedArgument[] {
  const variables = new Set(pathVariables(context.path));
  context.spend(variables.size);
  const planned = parameters.map((parameter) => planParameter(parameter, variables, context)).filter((plan) => plan !== undefined);
  const declared = new Set(planned.filter((plan) => plan.in === 'path').map((plan) => plan.name));
  const missing = [...variables].filter((name) => !declared.has(name));
  return [...planned, ...missing.map((name): PlannedArgument => ({ in: 'path', name, isRequired: true, schema: { type: 'string' } }))];
}

function pathVariables(path: string): string[] {
  return Array.from(path.matchAll(/\{([^{}]+)\}/g), ([, name]) => name ?? '');
}

function planParameter(parameter: JsonObject, variables: ReadonlySet<string>, context: ParameterContext): PlannedArgument | undefined {
  const name = ownValue(parameter, 'name');
  const location = ownValue(parameter, 'in');
  if (typeof name !== 'string' || name === '' || typeof location !== 'string' || !locations.has(location)) {
    spendOnValue(parameter, context.spend);
    context.warn(`A parameter without a known name and location was left out: ${shortened(JSON.stringify(parameter), 120)}`);
    return undefined;
  }
  if (location === 'path' && !variables.has(name)) {
    context.warn(`The path parameter "${name}" was left out: the path does not contain {${name}}.`);
    return undefined;
  }
  if (isWithheld(location, name, context.credentials)) return undefined;
  const content = ownValue(parameter, 'content');
  if (isJsonObject(content)) context.spend(Object.keys(content).length);
  const isRequired = location === 'path' || parameter['required'] === true;
  if ((location === 'header' || location === 'cookie') && !isToken(name)) {
    if (isRequired) throw new OmittedOperation(`the required ${location} "${name}" has a name that cannot be sent`);
    context.warn(`The ${location} "${name}" was left out: its name cannot be sent.`);
    return undefined;
  }
  return {
    in: location as ArgumentBinding['in'],
    name,
    isRequired,
    ...wireForm(parameter, location),
    schema: schemaOf(parameter, context.adapter),
  };
}

/** Credentials and what belongs to the transport are sent by the connection, never by the model. */
function isWithheld(location: string, name: string, credentials: ReadonlySet<string>): boolean {
  return credentials.has(`${location}:${name.toLowerCase()}`) || (location === 'header' && isReservedHeader(name));
}

/** Only what the document states: the defaults are the location's. */
function wireForm(parameter: JsonObject, location: string): Pick<ArgumentBinding, 'style' | 'explode' | 'allowReserved'> {
  const [type] = mediaTypeOf(parameter) ?? [];
  if (type !== undefined) return { style: styleOfType(type) };
  if (location === 'querystring') return { style: 'urlencoded' };
  const { style, explode, allowReserved } = parameter;
  return {
    ...(typeof style === 'string' && stylesOf[location]?.has(style) === true && { style: style as ParameterStyle }),
    ...(typeof explode === 'boolean' && { explode }),
    ...(allowReserved === true && (location === 'query' || location === 'path') && { allowReserved }),
  };
}

/** How a value is written whose media type is declared (OpenAPI 3.1.1, Parameter Object: `content`). */
function styleOfType(type: string): ParameterStyle {
  if (/^application\/x-www-form-urlencoded\b/i.test(type.trim())) return 'urlencoded';
  return /^text\/(?!json)/i.test(type.trim()) ? 'text' : 'json';
}

function schemaOf(parameter: JsonObject, adapter: SchemaAdapter): JsonObject {
  const [, declared] = mediaTypeOf(parameter) ?? ['', parameter];
  const schema = adapter.adapt(ownValue(declared, 'schema') ?? { type: 'string' });
  const { description } = parameter;
  return hasWords(description) ? describedAs(schema, description) : schema;
}

/** A parameter may have a media type instead of a style: its value is that text, in practice JSON. */
function mediaTypeOf(parameter: JsonObject): [type: string, media: JsonObject] | undefined {
  const content = ownValue(parameter, 'content');
  const [[type, media] = ['', undefined]] = isJsonObject(content) ? Object.entries(content) : [];
  return isJsonObject(media) ? [type, media] : undefined;
}
