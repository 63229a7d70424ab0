import { ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { formType, multipartType } from '../media-types.ts';

/** The parts of an operation that describe its request, in the terms of OpenAPI 3, with the references of parameters resolved. */
export interface RequestParts {
  parameters: JsonObject[];
  requestBody: JsonValue | undefined;
}

/** `collectionFormat` (Swagger 2.0) in the words of OpenAPI 3; `csv`, the default, is a comma between the values. */
const styles: Record<string, JsonObject> = {
  csv: { explode: false },
  multi: { style: 'form', explode: true },
  ssv: { style: 'spaceDelimited', explode: false },
  tsv: { style: 'tabDelimited', explode: false },
  pipes: { style: 'pipeDelimited', explode: false },
};
const parameterKeys = new Set(['name', 'in', 'required', 'collectionFormat', 'allowEmptyValue']);
/** Only the first that fits is sent. */
const maxMediaTypes = 100;
const formTypes = [formType, multipartType];

/** Whether a document is Swagger 2.0, whose operations have to be put into the words of OpenAPI 3 first. */
export function isSwagger(document: JsonObject): boolean {
  return typeof ownValue(document, 'swagger') === 'string' && ownValue(document, 'openapi') === undefined;
}

/** Parameters of Swagger 2.0 carry their type themselves, and its bodies are parameters. `consumes` is the operation's, else the document's. */
export function upgradeRequest(document: JsonObject, operation: JsonObject, parameters: readonly JsonObject[]): RequestParts {
  const consumes = mediaTypes(ownValue(operation, 'consumes') ?? ownValue(document, 'consumes'));
  const body = parameters.find((parameter) => parameter['in'] === 'body');
  const fields = parameters.filter((parameter) => parameter['in'] === 'formData');
  const others = parameters.filter((parameter) => parameter['in'] !== 'body' && parameter['in'] !== 'formData');
  return { parameters: others.map(upgradeParameter), requestBody: upgradeBody(body, fields, consumes) };
}

function upgradeParameter(parameter: JsonObject): JsonObject {
  const style = parameter['type'] === 'array' ? listStyle(parameter) : {};
  const { description, ...schema } = schemaOf(parameter);
  const { name, in: location, required } = parameter;
  return { name, in: location, required, description, schema, ...style };
}

function listStyle(parameter: JsonObject): JsonObject {
  const format = ownValue(parameter, 'collectionFormat');
  return styles[typeof format === 'string' ? format : 'csv'] ?? { explode: false };
}

/** Swagger 2.0 forbids a body beside form fields; generators that know several media types write both all the same. */
function upgradeBody(body: JsonObject | undefined, fields: readonly JsonObject[], consumes: readonly string[]): JsonObject | undefined {
  if (body === undefined) return fields.length === 0 ? undefined : upgradeForm(fields, consumes);
  const types = fields.length === 0 ? consumes : consumes.filter((type) => !formTypes.includes(type));
  const whole = types.length > 0 ? types : ['application/json'];
  const content = Object.fromEntries(whole.map((type): [string, JsonObject] => [type, { schema: ownValue(body, 'schema') }]));
  const form = fields.length === 0 ? {} : upgradeForm(fields, consumes).content;
  return { required: body['required'] === true, description: body['description'], content: { ...content, ...form } };
}

function upgradeForm(fields: readonly JsonObject[], consumes: readonly string[]): { required: boolean; content: JsonObject } {
  const hasFile = fields.some((field) => field['type'] === 'file');
  const declared = formTypes.filter((type) => consumes.includes(type) && !(hasFile && type === formType));
  const types = declared.length > 0 ? declared : [hasFile ? multipartType : formType];
  const named = fields.flatMap((field) => (typeof field['name'] === 'string' ? [{ name: field['name'], field }] : []));
  const required = named.filter(({ field }) => field['required'] === true).map(({ name }) => name);
  const properties = Object.fromEntries(named.map(({ name, field }) => [name, schemaOf(field)]));
  const lists = named.filter(({ field }) => field['type'] === 'array');
  const encoding = Object.fromEntries(lists.map(({ name, field }) => [name, { style: 'form', ...listStyle(field) }]));
  const media: JsonObject = { schema: { type: 'object', properties, required }, encoding };
  return { required: required.length > 0, content: Object.fromEntries(types.map((type) => [type, media])) };
}

function schemaOf(parameter: JsonObject): JsonObject {
  const schema = Object.fromEntries(Object.entries(parameter).filter(([key]) => !parameterKeys.has(key)));
  return schema['type'] === 'file' ? { ...schema, type: 'string', format: 'binary' } : schema;
}

function mediaTypes(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.slice(0, maxMediaTypes).filter((type) => typeof type === 'string') : [];
}
