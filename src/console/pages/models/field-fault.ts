import { ApiError } from '../../api/request.ts';

/** A refusal that names a field of the request. */
export interface FieldFault {
  /** The field without the position in a list: `urls`. */
  field: string;
  /** A sentence without its subject: `must be at least 1.` */
  text: string;
}

/** Undefined if an error is not about one of these fields. */
export function findFieldFault(error: unknown, fields: ReadonlySet<string>): FieldFault | undefined {
  if (!(error instanceof ApiError) || error.param === undefined) return undefined;
  const field = /^\w+/.exec(error.param)?.[0] ?? '';
  if (!fields.has(field)) return undefined;
  return { field, text: error.message.startsWith(`${error.param}: `) ? error.message.slice(error.param.length + 2) : error.message };
}
