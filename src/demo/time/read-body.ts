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

/** One entry of FastAPI's 422 body, with the wording of pydantic 2. */
interface ValidationIssue {
  type: string;
  loc: (string | number)[];
  msg: string;
  /** The rejected value. */
  input: unknown;
  ctx?: Record<string, string>;
}

/** An error response: its HTTP status, and the `detail` of its body, with FastAPI's wording. */
export class Refusal extends Error {
  readonly status: number;
  readonly detail: string | ValidationIssue[];

  constructor(status: number, detail: string | ValidationIssue[]) {
    super(typeof detail === 'string' ? detail : 'Validation failed.');
    this.name = 'Refusal';
    this.status = status;
    this.detail = detail;
  }
}

/**
 * The fields of a JSON body, with fallbacks applied. Unknown fields are ignored.
 * @throws Refusal 422 with every issue in the order of the fields, as FastAPI with pydantic 2 reports them.
 */
export function readBody<Name extends string>(body: ReceivedBody | undefined, fields: Record<Name, BodyField>): Record<Name, string> {
  const received = parseBody(body);
  const issues: ValidationIssue[] = [];
  const read = ([name, { fallback, choices }]: [string, BodyField]): [string, string] => {
    const value = Object.hasOwn(received, name) ? received[name] : fallback;
    if (typeof value === 'string' && (choices?.includes(value) ?? true)) return [name, value];
    const expected =
      choices
        ?.map((choice) => `'${choice}'`)
        .join(', ')
        .replace(/, (?=[^,]*$)/, ' or ') ?? 'a valid string';
    const issue: Omit<ValidationIssue, 'loc'> =
      value === undefined
        ? { type: 'missing', msg: 'Field required', input: received }
        : {
            type: choices ? 'literal_error' : 'string_type',
            msg: `Input should be ${expected}`,
            input: value,
            ...(choices && { ctx: { expected } }),
          };
    issues.push({ ...issue, loc: ['body', name] });
    return [name, ''];
  };
  const values = Object.fromEntries(Object.entries<BodyField>(fields).map(read)) as Record<Name, string>;
  if (issues.length > 0) throw new Refusal(422, issues);
  return values;
}

/** As FastAPI does it: parsed if the content type is JSON or missing, and text otherwise. */
function parseBody(body: ReceivedBody | undefined): Record<string, unknown> {
  if (body === undefined || body.text === '') throw invalid({ type: 'missing', msg: 'Field required', input: null });
  const isJson = body.contentType === undefined || /^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/i.test(body.contentType);
  const parsed: unknown = isJson ? parseJson(body.text) : body.text;
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as Record<string, unknown>;
  // Lists may be nested too deeply to be written back.
  const input = typeof parsed === 'object' ? null : parsed;
  throw invalid({ type: 'model_attributes_type', msg: 'Input should be a valid dictionary or object to extract fields from', input });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const position = Number(/\bposition (\d+)/.exec(message)?.[1] ?? 0);
    throw invalid({ type: 'json_invalid', msg: 'JSON decode error', input: {}, ctx: { error: message } }, position);
  }
}

function invalid(issue: Omit<ValidationIssue, 'loc'>, position?: number): Refusal {
  return new Refusal(422, [{ ...issue, loc: position === undefined ? ['body'] : ['body', position] }]);
}
