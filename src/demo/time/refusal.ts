/** One entry of FastAPI's 422 body, as pydantic 2 words it. */
export interface ValidationIssue {
  type: string;
  loc: (string | number)[];
  msg: string;
  /** What was received. */
  input: unknown;
  ctx?: Record<string, string>;
}

/** An answer that is no success: `{"detail": …}` with its HTTP status, in FastAPI's words. */
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
