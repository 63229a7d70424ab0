import { GatewayError } from '../../core/errors.ts';

/** Where a transaction may succeed if it is run again: a deadlock, a serialization failure, a lock that was not available. */
const repeatable = new Set(['40001', '40P01', '55P03']);

/** Errors of queries and connections; any other is one of a script, such as a refusal. */
const ofDatabase = new WeakSet<object>();

/** Awaits what the database answers, and remembers that an error is its own. */
export async function fromDatabase<Value>(answer: Promise<Value>): Promise<Value> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error) ofDatabase.add(error);
    throw error;
  }
}

/** The SQLSTATE of an error (https://www.postgresql.org/docs/current/errcodes-appendix.html), or the code of a system error; empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

export function isRepeatable(error: unknown): boolean {
  return repeatable.has(codeOf(error));
}

/** Whether the connection is of no use any more, or leads to a server that cannot be written. */
export function endsConnection(error: unknown): boolean {
  if (!(error instanceof Error) || !ofDatabase.has(error)) return false;
  const code = codeOf(error);
  return !/^[0-9A-Z]{5}$/.test(code) || /^(?:08|57P|25006)/.test(code);
}

/** As `storage_unavailable` with the cure where the database cannot be used at the moment; any other error as it is. Names no address: callers read it. */
export function toPostgresFault(error: unknown): unknown {
  if (!(error instanceof Error) || !ofDatabase.has(error)) return error;
  const problem = problemOf(error);
  if (problem === undefined) return error;
  return new GatewayError('storage_unavailable', problem, { cause: error, retryAfter: '1' });
}

const problems: readonly [pattern: RegExp, problem: string][] = [
  [/^53100$/, 'The disk of PostgreSQL is full. Free some space there.'],
  [/^53300$/, 'PostgreSQL accepts no further connections. Raise its max_connections, or end other programs that use it.'],
  [/^53/, 'PostgreSQL has not enough memory or disk. Look into its log.'],
  [/^25006$/, 'PostgreSQL is read-only: a standby, or default_transaction_read_only is on. DATABASE_URL must lead to the primary.'],
  [/^57014$/, 'PostgreSQL did not answer in time.'],
  [/^28/, 'PostgreSQL refuses the user or the password of DATABASE_URL.'],
  [/^3D000$/, 'PostgreSQL has no database of the name in DATABASE_URL. Create it (createdb), or correct the name.'],
  [/^42501$/, 'The user of DATABASE_URL may not use the tables. Make it the owner of the database.'],
  [/^(?:08|57P)/, 'PostgreSQL has closed the connection.'],
  [/^58/, 'PostgreSQL cannot read or write its files. Look into its log.'],
];

function problemOf(error: unknown): string | undefined {
  const code = codeOf(error);
  const known = problems.find(([pattern]) => pattern.test(code));
  if (known !== undefined) return known[1];
  // Any other SQLSTATE is a bug here; what has none comes from the connection.
  if (/^[0-9A-Z]{5}$/.test(code)) return undefined;
  const isOfConnection = code !== '' || (error instanceof Error && /timeout|terminated|connect|closed|ended/i.test(error.message));
  return isOfConnection ? 'PostgreSQL cannot be reached. Check that it runs, and that DATABASE_URL leads to it.' : undefined;
}

/** As PostgreSQL's own refusal of a write. */
export function readOnlyFault(): GatewayError {
  return new GatewayError('storage_unavailable', problemOf(Object.assign(new Error('read only'), { code: '25006' })) ?? '', {
    retryAfter: '1',
  });
}
