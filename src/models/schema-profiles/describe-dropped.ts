import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

const shownCharacters = 120;
const shownChoices = 50;
const descriptionCharacters = 1_024;

const numberNotes = {
  minimum: 'At least',
  exclusiveMinimum: 'More than',
  maximum: 'At most',
  exclusiveMaximum: 'Less than',
  multipleOf: 'A multiple of',
};

interface DroppedKeywords {
  /** The schema that has the keywords. */
  original: JsonObject;
  dropped: ReadonlySet<string>;
  /** Sentences about what else is lost. */
  notes?: readonly string[];
}

/**
 * The schema with a description of the keywords that its backend ignores, after the author's own words and as far as there is room: a model can
 * only keep to what it reads.
 */
export function describeDropped(schema: JsonObject, { original, dropped, notes: more = [] }: DroppedKeywords): JsonObject {
  const described = Object.fromEntries(Object.entries(original).filter(([key]) => dropped.has(key)));
  const notes = [...notesOn(described), ...more];
  if (notes.length === 0) return schema;
  const description = typeof schema['description'] === 'string' ? schema['description'].trim() : '';
  const added = notes.filter((note) => !description.includes(note)).join(' ');
  const room = Math.max(0, descriptionCharacters - added.length - 1);
  const words = description.length > room ? `${description.slice(0, Math.max(0, room - 1)).toWellFormed()}…` : description;
  return { ...schema, description: `${words} ${added}`.trim().slice(0, descriptionCharacters) };
}

function notesOn(dropped: JsonObject): string[] {
  const { format, uniqueItems, pattern, const: only, enum: choices, default: usual, additionalProperties: map } = dropped;
  const numbers = Object.entries(numberNotes).map(([key, words]) => typeof dropped[key] === 'number' && `${words} ${dropped[key]}.`);
  return [
    typeof format === 'string' && `Format: ${format}.`,
    ...numbers,
    rangeNote(dropped, 'Length'),
    rangeNote(dropped, 'Items', 'items'),
    rangeNote(dropped, 'Properties', 'keys'),
    uniqueItems === true && 'No item twice.',
    typeof pattern === 'string' && `Pattern: ${shown(pattern, true)}`,
    only !== undefined && `Always ${shown(only)}.`,
    Array.isArray(choices) &&
      `One of: ${choices
        .slice(0, shownChoices)
        .map((choice) => shown(choice, true))
        .join(', ')}.`,
    usual !== undefined && `Default: ${shown(usual)}.`,
    isJsonObject(map) && 'An object with keys of your choice.',
  ].filter((note) => note !== false);
}

/** `Length: 1 to 5.`, `At least 2 items.` */
function rangeNote(dropped: JsonObject, key: string, unit?: string): string | false {
  const [least, most] = [`min${key}`, `max${key}`].map((bound) => (typeof dropped[bound] === 'number' ? dropped[bound] : undefined));
  if (least === undefined && most === undefined) return false;
  const range = least === undefined ? `at most ${most}` : most === undefined ? `at least ${least}` : `${least} to ${most}`;
  return unit === undefined ? `${key}: ${range}.` : `${range.slice(0, 1).toUpperCase()}${range.slice(1)} ${unit}.`;
}

function shown(value: JsonValue, isBare = false): string {
  const text = isBare && typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
}
