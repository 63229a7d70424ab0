import type { OpenAPI } from 'openapi-types';
import { isContainer, isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { findReference } from './resolve-references.ts';
import { referenceOf } from '../../../shared/json-schema/resolve.ts';

const maxNotes = 20;
const noteCharacters = 300;
const heading = 'Swagger schema validation failed.';
/** The validator's message for a document without `paths` names a file that does not exist. */
const noPaths = /^\[object Object\] is not a valid .*$/;
/** Larger documents take a validator a second and more than a hundred megabytes, and their authors have checked them. */
const checkedCharacters = 5_000_000;
/**
 * A validator follows each reference every time, and cannot be interrupted. Real documents have at most two values a character, and
 * the largest of them 2.2 million; that many take it a few seconds.
 */
const checkedValuesPerCharacter = 10;
const checkedValues = 2_500_000;
/** Values within each other, across references: real documents stay below a tenth of it, and more could overflow the stack. */
const maxDepth = 2_000;

/** Nothing outside the document is opened: by default this library reads local files and fetches addresses. */
const closed = { resolve: { external: false, file: false, http: false } } as const;

/**
 * What a validator of the specification says about a document of so many characters, one short line a note; empty when it is valid. For reports
 * only: ten of the fifty-seven real documents that were measured are invalid and perfectly usable. Never rejects.
 */
export async function checkDocument(document: JsonObject, characters: number): Promise<string[]> {
  if (characters > checkedCharacters)
    return [`The document has more than ${checkedCharacters} characters, so it was not checked against the specification.`];
  if (unfoldedValues(document) > Math.min(checkedValues, characters * checkedValuesPerCharacter))
    return ['The document was not checked against the specification, because its references expand to too much.'];
  const { default: SwaggerParser } = await import('@apidevtools/swagger-parser');
  try {
    await SwaggerParser.validate(structuredClone(document) as unknown as OpenAPI.Document, closed);
    return [];
  } catch (error) {
    return notesOf(error);
  }
}

function notesOf(error: unknown): string[] {
  const message = error instanceof Error ? error.message : String(error);
  const lines = message.split('\n').map((line) => line.trim().replace(noPaths, 'The document has no "paths".').slice(0, noteCharacters));
  const notes = lines.filter((line) => line !== '' && line !== heading);
  return [...new Set(notes.length > 0 ? notes : [heading])].slice(0, maxNotes);
}

/**
 * How many values a document has with every reference written out, except where one leads back to itself: forty schemas that each refer twice to
 * the one before make a trillion. Looks at each value once. `Infinity` where it is nested too deep to be counted.
 */
export function unfoldedValues(document: JsonObject): number {
  const counts = new Map<string, number>();

  const count = (value: JsonValue | undefined, depth: number): number => {
    if (!isContainer(value)) return 1;
    if (depth > maxDepth) return Number.POSITIVE_INFINITY;
    const reference = isJsonObject(value) ? referenceOf(value) : undefined;
    let values = 1 + (reference === undefined ? 0 : countTarget(reference, depth));
    for (const child of Object.values(value)) values += count(child, depth + 1);
    return values;
  };

  const countTarget = (reference: string, depth: number): number => {
    const known = counts.get(reference);
    if (known !== undefined) return known;
    // Until it is counted: what leads back to itself is one value there.
    counts.set(reference, 1);
    const values = count(findReference(document, reference), depth + 1);
    counts.set(reference, values);
    return values;
  };

  return count(document, 0);
}
