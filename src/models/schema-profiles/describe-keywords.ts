import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { isJsonObject } from '../../shared/json.ts';

const shownCharacters = 120;
const descriptionCharacters = 1_024;

/** Sentences for keywords that a consumer drops without a word: what a model does not read it cannot keep to. */
export function notesOn(schema: JsonObject, dropped: ReadonlySet<string>): string[] {
  const said = (key: string): JsonValue | undefined => (dropped.has(key) ? schema[key] : undefined);
  const notes: string[] = [];
  const format = said('format');
  if (typeof format === 'string') notes.push(`Format: ${format}.`);
  const least = said('minimum') ?? said('exclusiveMinimum');
  const most = said('maximum') ?? said('exclusiveMaximum');
  if (typeof least === 'number') notes.push(said('minimum') === undefined ? `More than ${least}.` : `At least ${least}.`);
  if (typeof most === 'number') notes.push(said('maximum') === undefined ? `Less than ${most}.` : `At most ${most}.`);
  if (said('multipleOf') !== undefined) notes.push(`A multiple of ${shown(said('multipleOf'))}.`);
  notes.push(...countNotes(said, 'Length', 'Length'), ...countNotes(said, 'Items', 'items'), ...countNotes(said, 'Properties', 'keys'));
  if (said('uniqueItems') === true) notes.push('No item twice.');
  if (typeof said('pattern') === 'string') notes.push(`Pattern: ${shown(said('pattern'), true)}`);
  if (said('const') !== undefined) notes.push(`Always ${shown(said('const'))}.`);
  const choices = said('enum');
  if (Array.isArray(choices))
    notes.push(
      `One of: ${choices
        .slice(0, 50)
        .map((choice) => shown(choice, true))
        .join(', ')}.`,
    );
  if (said('default') !== undefined) notes.push(`Default: ${shown(said('default'))}.`);
  if (isJsonObject(said('additionalProperties'))) notes.push('An object with keys of your choice.');
  return notes;
}

function countNotes(said: (key: string) => JsonValue | undefined, key: string, unit: string): string[] {
  const [least, most] = [said(`min${key}`), said(`max${key}`)];
  if (typeof least !== 'number' && typeof most !== 'number') return [];
  const range =
    typeof least !== 'number' ? `at most ${shown(most)}` : typeof most !== 'number' ? `at least ${least}` : `${least} to ${most}`;
  return [unit === 'Length' ? `Length: ${range}.` : `${range.slice(0, 1).toUpperCase()}${range.slice(1)} ${unit}.`];
}

function shown(value: JsonValue | undefined, isBare = false): string {
  const text = isBare && typeof value === 'string' ? value : JSON.stringify(value ?? null);
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
}

/** The schema with the notes after its own words, as far as there is room. */
export function withNotes(schema: JsonObject, notes: readonly string[]): JsonObject {
  if (notes.length === 0) return schema;
  const own = typeof schema['description'] === 'string' ? schema['description'].trim() : '';
  const added = notes.filter((note) => !own.includes(note)).join(' ');
  const room = Math.max(0, descriptionCharacters - added.length - 1);
  const words = own.length > room ? `${own.slice(0, Math.max(0, room - 1)).toWellFormed()}…` : own;
  return { ...schema, description: `${words} ${added}`.trim().slice(0, descriptionCharacters) };
}
