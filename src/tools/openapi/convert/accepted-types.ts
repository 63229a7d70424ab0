import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { spendOnNames, type Spend } from '../conversion-budget.ts';
import { tryFollow } from '../document/resolve-references.ts';
import { isSwagger } from '../document/upgrade-swagger.ts';
import { essenceOf } from '../media-types.ts';

/** Real operations name five at most. */
const maxTypes = 8;
const maxResponses = 50;
/** Two tokens (RFC 9110 section 8.3.1); the second may be a range. */
const mediaType = /^[\w!#$&^.+-]{1,80}\/(?:\*|[\w!#$&^.+-]{1,80})$/;
const jsonType = 'application/json';

/**
 * The media types beside JSON that an operation may answer with, errors included: what strict servers have to be asked for. A page is only among
 * them if it is all that a success can be: Spring and others answer errors as a page as soon as pages are accepted, whatever is preferred. `text/*`
 * accepts pages too.
 */
export function acceptedTypes(document: JsonObject, operation: JsonObject, spend: Spend): string[] {
  const declared = isSwagger(document) ? producedTypes(document, operation) : answerTypes(document, operation, spend);
  const named = declared.map(({ type, isSuccess }) => ({ type: essenceOf(type), isSuccess })).filter(({ type }) => mediaType.test(type));
  const successes = named.filter(({ isSuccess }) => isSuccess);
  const isPage = successes.length > 0 && successes.every(({ type }) => type === 'text/html');
  const wanted = named.filter(({ type }) => ![jsonType, '*/*', 'text/*'].includes(type) && (type !== 'text/html' || isPage));
  return [...new Set(wanted.map(({ type }) => type))].slice(0, maxTypes);
}

interface DeclaredType {
  type: string;
  isSuccess: boolean;
}

function producedTypes(document: JsonObject, operation: JsonObject): DeclaredType[] {
  const produces: JsonValue | undefined = ownValue(operation, 'produces') ?? ownValue(document, 'produces');
  const listed = Array.isArray(produces) ? produces.slice(0, maxResponses) : [];
  return listed.flatMap((type) => (typeof type === 'string' ? [{ type, isSuccess: true }] : []));
}

function answerTypes(document: JsonObject, operation: JsonObject, spend: Spend): DeclaredType[] {
  const responses = ownValue(operation, 'responses');
  if (!isJsonObject(responses)) return [];
  return Object.entries(responses)
    .slice(0, maxResponses)
    .flatMap(([status, response]) => {
      const answer = tryFollow(document, response, spend);
      const content = answer === undefined ? undefined : ownValue(answer, 'content');
      const types = isJsonObject(content) ? Object.keys(content) : [];
      spendOnNames(types, spend);
      return types.map((type) => ({ type, isSuccess: status.startsWith('2') }));
    });
}
