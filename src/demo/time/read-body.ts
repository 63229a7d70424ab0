import type { ValidationIssue } from './refusal.ts';
import { Refusal } from './refusal.ts';

/** A field of a request body: required if it has no `fallback`, and one of its `choices` if it has any. */
interface BodyField {
  fallback?: string;
  choices?: readonly string[];
}

export interface ReceivedBody {
  /** The value of the Content-Type header; undefined if it is missing. */
  contentType: string | undefined;
  text: string;
}

/** Valid bodies are flat; deeper nesting would only make error responses, which repeat the input, expensive. */
const maxDepth = 64;

/**
 * The fields of a JSON body, with fallbacks applied. Unknown fields are ignored.
 * @throws Refusal 422 with every issue in the order of the fields, as FastAPI with pydantic 2 reports them; 400 for a body that is nested too deeply.
 */
export function readBody<Name extends string>(body: ReceivedBody | undefined, fields: Record<Name, BodyField>): Record<Name, string> {
  const received = parseBody(body);
  if (!isObject(received)) {
    const msg = 'Input should be a valid dictionary or object to extract fields from';
    throw new Refusal(422, [{ type: 'model_attributes_type', loc: ['body'], msg, input: received }]);
  }
  const values: Record<string, string> = {};
  const issues: ValidationIssue[] = [];
  for (const [name, field] of Object.entries<BodyField>(fields)) {
    const value = Object.hasOwn(received, name) ? received[name] : field.fallback;
    const issue = findIssue({ name, field, value, received });
    if (issue === undefined) values[name] = String(value);
    else issues.push(issue);
  }
  if (issues.length > 0) throw new Refusal(422, issues);
  return values;
}

function parseBody(body: ReceivedBody | undefined): unknown {
  if (body === undefined || body.text === '') {
    throw new Refusal(422, [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }]);
  }
  // Like FastAPI: parse as JSON if the content type is JSON or missing, and never for another content type.
  if (body.contentType !== undefined && !/^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/i.test(body.contentType)) return body.text;
  const parsed = parseJson(body.text);
  if (isDeeperThan(parsed, maxDepth)) throw new Refusal(400, 'There was an error parsing the body');
  return parsed;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const position = Number(/\bposition (\d+)/.exec(message)?.[1] ?? 0);
    throw new Refusal(422, [
      { type: 'json_invalid', loc: ['body', position], msg: 'JSON decode error', input: {}, ctx: { error: message } },
    ]);
  }
}

interface FieldFinding {
  name: string;
  field: BodyField;
  value: unknown;
  received: Record<string, unknown>;
}

function findIssue({ name, field, value, received }: FieldFinding): ValidationIssue | undefined {
  const loc = ['body', name];
  if (!Object.hasOwn(received, name) && value === undefined) return { type: 'missing', loc, msg: 'Field required', input: received };
  if (field.choices !== undefined) {
    if (typeof value === 'string' && field.choices.includes(value)) return undefined;
    const expected = inWords(field.choices);
    return { type: 'literal_error', loc, msg: `Input should be ${expected}`, input: value, ctx: { expected } };
  }
  if (typeof value === 'string') return undefined;
  return { type: 'string_type', loc, msg: 'Input should be a valid string', input: value };
}

/** `'a', 'b' or 'c'` */
function inWords(choices: readonly string[]): string {
  const quoted = choices.map((choice) => `'${choice}'`);
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth <= 0 || Object.values(value).some((child) => isDeeperThan(child, depth - 1));
}
