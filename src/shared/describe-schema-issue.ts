/** The part of a zod issue that is used here. */
export interface SchemaIssue {
  readonly message: string;
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
}

/** zod's default messages name TypeScript types, so they are replaced. Other messages come from our schemas and are shown unchanged. */
const defaultMessage = /^(?:Invalid (?:input|option|key|string|element|discriminator)|Too (?:small|big)|Unrecognized key)/;
/** The most choices that a message lists. */
const maxListed = 20;

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/** The problem, worded to follow the name of a field, e.g. `must be a list`. Never contains the value, which may be a secret. */
export function describeSchemaIssue(issue: SchemaIssue | undefined): string {
  if (issue === undefined) return 'is not valid';
  return defaultMessage.test(issue.message) ? rephrase(issue, { ...issue }) : issue.message;
}

function rephrase(issue: SchemaIssue, fields: { readonly [name: string]: unknown }): string {
  switch (issue.code) {
    case 'invalid_type': {
      // A field that may be anything, but has to be there.
      if (fields['expected'] === 'nonoptional') return 'is missing';
      const wanted = `must be ${kinds[String(fields['expected'])] ?? String(fields['expected'])}`;
      return issue.message.endsWith('received undefined') ? `is missing; it ${wanted}` : wanted;
    }
    case 'invalid_value':
      return `must be ${listed(fields['values'])}`;
    case 'too_small':
    case 'too_big':
      return describeBound(issue.code, fields);
    case 'unrecognized_keys':
      return `has no field ${listed(fields['keys'])}`;
    case 'invalid_union':
      return describeUnion(fields);
    case 'invalid_key':
    case 'invalid_element':
      return describeSchemaIssue(issuesIn(fields['issues'])[0]);
    case undefined:
    default:
      return 'is not valid';
  }
}

function describeBound(code: 'too_small' | 'too_big', fields: { readonly [name: string]: unknown }): string {
  const isLow = code === 'too_small';
  const bound = Number(isLow ? fields['minimum'] : fields['maximum']);
  const unit = fields['origin'] === 'string' ? 'character' : fields['origin'] === 'array' ? 'entry' : undefined;
  if (unit !== undefined)
    return isLow && bound === 1 ? 'must not be empty' : `must have ${isLow ? 'at least' : 'at most'} ${counted(bound, unit)}`;
  if (fields['inclusive'] === false) return `must be ${isLow ? 'more' : 'less'} than ${bound}`;
  return `must be ${isLow ? 'at least' : 'at most'} ${bound}`;
}

function counted(number: number, unit: 'character' | 'entry'): string {
  if (number === 1) return `1 ${unit}`;
  return `${number} ${unit === 'entry' ? 'entries' : 'characters'}`;
}

/** The problem within the alternative whose type matches; otherwise all expected types. */
function describeUnion(fields: { readonly [name: string]: unknown }): string {
  if (Array.isArray(fields['options'])) return `must be ${listed(fields['options'])}`;
  const alternatives = Array.isArray(fields['errors']) ? fields['errors'].flatMap((issues) => issuesIn(issues).slice(0, 1)) : [];
  const closest = alternatives.find((issue) => issue.code !== 'invalid_type' || issue.path.length > 0);
  if (closest !== undefined) return [closest.path.join('.'), describeSchemaIssue(closest)].join(' ').trim();
  const wanted = alternatives.map((issue) => describeSchemaIssue(issue).replace(/^(?:is missing; it )?must be /, ''));
  return wanted.length === 0 ? 'is not valid' : `must be ${[...new Set(wanted)].join(' or ')}`;
}

function issuesIn(value: unknown): SchemaIssue[] {
  return Array.isArray(value) ? (value as SchemaIssue[]) : [];
}

function listed(values: unknown): string {
  const words = Array.isArray(values) ? values.slice(0, maxListed).map((value) => JSON.stringify(String(value).slice(0, 100))) : [];
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} or ${words.at(-1)}` : words.join('');
}
