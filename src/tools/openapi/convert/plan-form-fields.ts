import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import type { PlannedArgument } from './convert-parameters.ts';
import { essenceOf, isPrintable, isRange } from '../media-types.ts';
import type { ParameterStyle, PartPlan } from '../../definitions/operation.ts';
import { descriptionCharacters, hasWords, shortened, withNull, allowsNull } from './schemas/schema-keywords.ts';

const fileNote = '(A file: text as it is, or bytes as a data: URI such as data:image/png;base64,…)';
const styles = new Set<string>(['form', 'spaceDelimited', 'pipeDelimited', 'tabDelimited', 'deepObject']);

/**
 * The arguments of a form, each as the media type's `encoding` says (OpenAPI 3.1.1, Encoding Object): a stated style comes first, else the
 * content type, which is JSON for objects, a file for binary texts, and text otherwise.
 */
export function planFormFields(
  planned: readonly PlannedArgument[],
  encoding: JsonValue | undefined,
  isMultipart: boolean,
): PlannedArgument[] {
  return planned.map((field) => {
    const own = isJsonObject(encoding) ? ownValue(encoding, field.name) : undefined;
    const said = isJsonObject(own) ? own : {};
    const styled = styleOf(said);
    if (styled !== undefined) return { ...field, ...styled };
    const part = partOf(field.schema, typeOf(said));
    if (!isMultipart) return part.kind === 'json' && part.type !== undefined ? { ...field, style: 'json' } : field;
    return { ...field, part, ...(part.kind === 'file' && { schema: fileSchema(field.schema) }) };
  });
}

function styleOf(said: JsonObject): Pick<PlannedArgument, 'style' | 'explode' | 'allowReserved'> | undefined {
  const { style, explode, allowReserved } = said;
  const stated = typeof style === 'string' && styles.has(style) ? style : undefined;
  if (stated === undefined && typeof explode !== 'boolean' && allowReserved !== true) return undefined;
  return {
    style: (stated ?? 'form') as ParameterStyle,
    ...(typeof explode === 'boolean' && { explode }),
    ...(allowReserved === true && { allowReserved }),
  };
}

/** The first of the types that the encoding allows. */
function typeOf(said: JsonObject): string | undefined {
  const stated = said['contentType'];
  const type = typeof stated === 'string' ? stated.split(',', 1)[0]?.trim() : undefined;
  return type === undefined || type === '' || !isPrintable(type) ? undefined : type;
}

function partOf(schema: JsonObject, type: string | undefined): PartPlan {
  const sent = type === undefined || isRange(type) ? {} : { type };
  const item = itemOf(schema);
  const essence = type === undefined ? '' : essenceOf(type);
  if (/[/+]json$/.test(essence)) return { kind: 'json', ...sent };
  // A type such as image/png says of a bare string that it is a file.
  const isBinaryType =
    essence !== '' && !essence.startsWith('text/') && /^(?:image|audio|video|font)\/|octet-stream$|pdf$|zip$|^\*\/\*$/.test(essence);
  if (holdsFile(schema) || (isBinaryType && [item['type']].flat().includes('string'))) return { kind: 'file', ...sent };
  return { kind: [item['type']].flat().includes('object') && essence === '' ? 'json' : 'text', ...sent };
}

function itemOf(schema: JsonObject): JsonObject {
  const items = [schema['type']].flat().includes('array') ? ownValue(schema, 'items') : undefined;
  return isJsonObject(items) ? items : schema;
}

/** A file, a list of files, or a choice with one of these. */
function holdsFile(schema: JsonObject): boolean {
  return isFileSchema(itemOf(schema)) || branchesOf(schema).some((branch) => isFileSchema(itemOf(branch)));
}

function branchesOf(schema: JsonObject): JsonObject[] {
  return Array.isArray(schema['anyOf']) ? schema['anyOf'].filter(isJsonObject) : [];
}

/**
 * `format: binary` until OpenAPI 3.0, `contentMediaType` without an encoding since 3.1 (section 4.8.1.4). A base64 text (`byte`,
 * `contentEncoding`) is a text.
 */
export function isFileSchema(schema: JsonObject): boolean {
  if (branchesOf(schema).some(isFileSchema)) return true;
  if (!['string', undefined].includes([schema['type']].flat().find((type) => type !== 'null') as string | undefined)) return false;
  if (schema['format'] === 'binary' || schema['format'] === 'file') return true;
  return (
    typeof schema['contentMediaType'] === 'string' &&
    schema['contentEncoding'] === undefined &&
    !schema['contentMediaType'].endsWith('json')
  );
}

/** The schema of a file as a model sees it, or of each of several. */
export function fileSchema(schema: JsonObject): JsonObject {
  const { items } = schema;
  if ([schema['type']].flat().includes('array') && isJsonObject(items)) return { ...schema, items: fileSchema(items) };
  const branches = branchesOf(schema);
  // One file or several of them is more than one file.
  if (branches.some((branch) => itemOf(branch) !== branch))
    return { ...schema, anyOf: branches.map((branch) => (isFileSchema(itemOf(branch)) ? fileSchema(branch) : branch)) };
  const { description } = schema;
  const words = hasWords(description) ? `${shortened(description, descriptionCharacters - fileNote.length - 1)} ${fileNote}` : fileNote;
  const file = { type: 'string', description: words };
  return allowsNull(schema) ? withNull(file) : file;
}

/** Whether a function with these arguments has to be able to send files. */
export function hasFile(properties: JsonObject): boolean {
  return Object.values(properties).some((schema) => isJsonObject(schema) && holdsFile(schema));
}
