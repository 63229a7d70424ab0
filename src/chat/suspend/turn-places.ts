import { hash } from 'node:crypto';
import { textOf, type ChatMessage, type ToolCall } from '../../core/chat/chat.ts';
import { comparableArguments } from './derived-call-id.ts';

/** Calls of one function after one question whose position is stored. An agent makes about a dozen. */
const placesPerQuestion = 64;

/** Where a call of a stored turn is, for clients that return calls without the ids that they were given. Stored as JSON. */
export interface CallPlace {
  /** The id under which the turn is stored. */
  id: string;
  /** What identifies the conversation before the call. */
  seed: string;
  /** Among the calls of its turn that the client got. */
  position: number;
  /** A hash of `comparableArguments`. */
  args: string;
}

/** The question that a call answers. With the function's name, it finds the places where the call may be. */
export function questionBefore(messages: readonly ChatMessage[], index = messages.length): string {
  const question = messages.slice(0, index).findLast(({ role }) => role === 'user');
  return question === undefined ? '' : hash('sha256', textOf(question.content).trim(), 'base64url');
}

export function placeOf({ id, arguments: args }: ToolCall, seed: string, position: number): CallPlace {
  return { id, seed, position, args: hash('sha256', comparableArguments(args), 'base64url') };
}

/** The newest is last. */
export function withPlaces(places: readonly CallPlace[], added: readonly CallPlace[]): CallPlace[] {
  const replaced = new Set(added.map(({ id }) => id));
  return [...places.filter(({ id }) => !replaced.has(id)), ...added].slice(-placesPerQuestion);
}

/**
 * The call that a client has sent back, among those of its function behind the same question. In the same conversation it is found by its position; the
 * arguments decide if several calls were there, because some clients change them. If the client has changed the conversation before it, such as by
 * leaving out its beginning, the arguments have to be the same, and there may be only one such call.
 */
export function findPlace(
  places: readonly CallPlace[],
  { place, arguments: args }: Pick<ToolCall, 'place' | 'arguments'>,
): CallPlace | undefined {
  if (place === undefined) return undefined;
  const sentArgs = hash('sha256', comparableArguments(args), 'base64url');
  const isSame = (each: CallPlace): boolean => each.args === sentArgs;
  const here = places.filter(({ seed }) => seed === place.seed);
  const atPosition = here.filter(({ position }) => position === place.position);
  const found = atPosition.findLast(isSame) ?? here.findLast(isSame) ?? atPosition.at(-1);
  if (found !== undefined || here.length > 0) return found;
  const [only, ...others] = places.filter(isSame);
  return others.length === 0 ? only : undefined;
}
