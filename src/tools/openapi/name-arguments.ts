import { createHash } from 'node:crypto';
import type { ArgumentPlace } from './operation.ts';

/** The strictest provider's rule for the names of a function's arguments. */
const legal = /^[A-Za-z0-9_.-]{1,64}$/;
const maxLength = 64;
const order: readonly ArgumentPlace['in'][] = ['path', 'query', 'header', 'cookie', 'body'];

/** What an argument is called on the wire, and where. */
export interface WireName {
  in: ArgumentPlace['in'];
  name: string;
}

/**
 * A name for each argument, in the order given. The wire's own name wherever it is legal and free; paths come before queries, headers, cookies
 * and bodies, and the later one is called after its place (`body_id`). Two arguments never share a name, so none can overwrite another.
 */
export function nameArguments(wireNames: readonly WireName[]): string[] {
  const wishes = wireNames.map((wire, index) => ({ wire, index, plain: legalArgument(wire.name) }));
  const rank = ({ wire, plain }: (typeof wishes)[number]): number => (wire.name === plain ? 0 : order.length) + order.indexOf(wire.in);
  const used = new Set<string>();
  const names = new Map<number, string>();
  for (const { wire, index, plain } of wishes.toSorted((a, b) => rank(a) - rank(b))) {
    const name = firstFree(plain, wire.in, used);
    used.add(name);
    names.set(index, name);
  }
  return wishes.map(({ index, plain }) => names.get(index) ?? plain);
}

function firstFree(plain: string, place: string, used: ReadonlySet<string>): string {
  const placed = `${place}_${plain}`.slice(0, maxLength);
  const suffixed = (number: number): string => `${placed.slice(0, maxLength - 6)}_${number}`;
  if (!used.has(plain)) return plain;
  if (!used.has(placed)) return placed;
  let number = 2;
  while (used.has(suffixed(number))) number += 1;
  return suffixed(number);
}

/** `filter[tag]` → `filter_tag`, `StartTime<` → `StartTime_lt`. */
function legalArgument(name: string): string {
  // The one legal name that is no ordinary key of an object.
  if (legal.test(name) && name !== '__proto__') return name;
  const words = name
    .replaceAll('<', '_lt')
    .replaceAll('>', '_gt')
    .split(/[^A-Za-z0-9_.-]+/);
  const joined = words.filter((word) => word !== '').join('_');
  if (joined !== '' && joined.length <= maxLength && joined !== '__proto__' && !/[^\P{L}A-Za-z]/u.test(name)) return joined;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 6);
  return `${joined.slice(0, maxLength - 7) || 'argument'}_${hash}`;
}
