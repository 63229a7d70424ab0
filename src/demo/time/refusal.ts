/** One entry of FastAPI's 422 body, with the wording of pydantic 2. */
export interface ValidationIssue {
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
