import type { Caller } from '../../../core/callers/caller.ts';
import { keyIdOf } from '../../../core/callers/people.ts';
import type { FunctionUser } from '../define/function-definition.ts';

/** The caller as functions and hooks see it. */
export function userOf({ id, role, person }: Caller): FunctionUser {
  return person === undefined ? { id, role } : { ...person, role, key: keyIdOf(id) };
}
