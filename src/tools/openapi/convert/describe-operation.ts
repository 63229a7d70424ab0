import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { spendOnNames, type Spend } from '../conversion-budget.ts';
import type { ListedOperation } from './list-operations.ts';
import { descriptionCharacters, firstSentences, hasWords, plainText, shortened, stripSpecialTokens } from '../../definitions/plain-text.ts';
import { tryFollow } from '../document/resolve-references.ts';
import { referenceOf } from '../../../shared/json-schema/resolve.ts';
import { isSwagger } from '../document/upgrade-swagger.ts';

const maxFacts = 3;
const typeCharacters = 60;
/** Half of a description; the longest list of real documents is a fifth of it. */
const needsCharacters = 500;

interface DescribedParts {
  /** Arguments without which the optional body is not complete. */
  needs: readonly string[];
  /** Arguments that go together, where not all do. */
  choices: readonly (readonly string[])[];
  spend: Spend;
}

/**
 * What a model reads about an operation: its description, else its summary, else method, path and tag; then what it should know about the answer.
 * The whole fits into `descriptionCharacters`.
 */
export function describeOperation(document: JsonObject, entry: ListedOperation, { needs, choices, spend }: DescribedParts): string {
  const { operation } = entry;
  const stated = [ownValue(operation, 'description'), ownValue(operation, 'summary')].find(hasWords);
  const found = [
    ...(operation['deprecated'] === true ? ['Deprecated.'] : []),
    ...(needs.length > 0 ? [`Required with a body: ${shortened(needs.join(', '), needsCharacters)}.`] : []),
    ...(choices.length > 0 ? [`Give arguments of one of these groups: ${shortened(groupsIn(choices), needsCharacters)}.`] : []),
    ...answerFacts(document, operation, { isUndescribed: stated === undefined, spend }),
  ];
  const facts = stripSpecialTokens(found.join(' '));
  const words = stated === undefined ? stripSpecialTokens(bareWords(entry)) : plainText(stated);
  if (facts === '') return firstSentences(words);
  const text = firstSentences(words, descriptionCharacters - facts.length - 2);
  return `${text}${/[.!?…:]$/.test(text) ? '' : '.'} ${facts}`;
}

function groupsIn(choices: readonly (readonly string[])[]): string {
  return choices.map((group) => group.join(', ')).join('; or ');
}

function bareWords({ method, path, operation }: ListedOperation): string {
  const tags = ownValue(operation, 'tags');
  const [tag] = Array.isArray(tags) ? tags : [];
  const letters = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '');
  // Most tags are a word of the path.
  const isNews =
    typeof tag === 'string' &&
    letters(tag.slice(0, typeCharacters)) !== '' &&
    !letters(path).includes(letters(tag.slice(0, typeCharacters)));
  return isNews ? `${method} ${path} (${tag.trim().slice(0, typeCharacters)})` : `${method} ${path}`;
}

/** The type of an answer that is no JSON; of one that nothing describes also what it is called. */
function answerFacts(
  document: JsonObject,
  operation: JsonObject,
  { isUndescribed, spend }: { isUndescribed: boolean; spend: Spend },
): string[] {
  const answer = successOf(document, operation, spend);
  if (answer === undefined) return [];
  const produces = ownValue(operation, 'produces') ?? ownValue(document, 'produces');
  const content = ownValue(answer, 'content');
  const types = isSwagger(document) ? produces : isJsonObject(content) ? Object.keys(content) : [];
  const known = (Array.isArray(types) ? types : []).filter((type) => typeof type === 'string');
  spendOnNames(known, spend);
  const isText = known.some((type) => /json|^\*|^text\/|xml|^$/i.test(type.trim()));
  const hasSchema = !isSwagger(document) || ownValue(answer, 'schema') !== undefined;
  if (known.length > 0 && !isText && hasSchema)
    return [
      `Returns ${known
        .slice(0, maxFacts)
        .map((type) => type.trim().slice(0, typeCharacters))
        .join(' or ')}.`,
    ];
  if (!isUndescribed) return [];
  const [media] = isJsonObject(content) ? Object.values(content) : [];
  const name = schemaName(isJsonObject(media) ? ownValue(media, 'schema') : ownValue(answer, 'schema'));
  return name === undefined ? [] : [`Returns ${name}.`];
}

function successOf(document: JsonObject, operation: JsonObject, spend: Spend): JsonObject | undefined {
  const responses = ownValue(operation, 'responses');
  if (!isJsonObject(responses)) return undefined;
  const status = Object.keys(responses).find((key) => key.startsWith('2'));
  return status === undefined ? undefined : tryFollow(document, responses[status], spend);
}

/** `#/components/schemas/Series` → `Series`, a list of them → `Series[]`. */
function schemaName(schema: JsonValue | undefined, suffix = ''): string | undefined {
  if (!isJsonObject(schema)) return undefined;
  const reference = referenceOf(schema);
  if (reference === undefined) return suffix === '' && schema['type'] === 'array' ? schemaName(schema['items'], '[]') : undefined;
  const name = reference.slice(reference.lastIndexOf('/') + 1);
  return /^[\w.-]{1,60}$/.test(name) ? `${name}${suffix}` : undefined;
}
