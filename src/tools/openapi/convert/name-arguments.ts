import { createHash } from 'node:crypto';
import type { ArgumentBinding } from '../../definitions/operation.ts';

/** The strictest provider's rule for the names of a function's arguments. */
const legal = /^[A-Za-z0-9_.-]{1,64}$/;
const maxLength = 64;
const order: readonly ArgumentBinding['in'][] = ['path', 'query', 'querystring', 'header', 'cookie', 'body'];

/** The name and location of an argument on the wire. */
interface WireName {
  in: ArgumentBinding['in'];
  name: string;
}

/**
 * A name for each argument, in the order given. The wire's own name wherever it is legal and free; paths come before queries, headers, cookies
 * and bodies, and the later one is prefixed with its location (`body_id`). Two arguments never share a name, so none can overwrite another.
 */
export function nameArguments(wireNames: readonly WireName[]): string[] {
  const wishes = wireNames.map((wire, index) => ({ wire, index, plain: legalArgument(wire.name) }));
  const rank = ({ wire, plain }: (typeof wishes)[number]): number => (wire.name === plain ? 0 : order.length) + order.indexOf(wire.in);
  const used = new Set<string>();
  const lastNumbers = new Map<string, number>();
  const names = new Map<number, string>();
  for (const { wire, index, plain } of wishes.toSorted((a, b) => rank(a) - rank(b))) {
    const name = firstFree({ plain, location: wire.in }, used, lastNumbers);
    used.add(name);
    names.set(index, name);
  }
  return wishes.map(({ index, plain }) => names.get(index) ?? plain);
}

/** Numbering continues where it ended, because thousands of names may become the same one. */
function firstFree(
  { plain, location }: { plain: string; location: string },
  used: ReadonlySet<string>,
  lastNumbers: Map<string, number>,
): string {
  const prefixed = `${location}_${plain}`.slice(0, maxLength);
  if (!used.has(plain)) return plain;
  if (!used.has(prefixed)) return prefixed;
  const stem = prefixed.slice(0, maxLength - 6);
  let number = (lastNumbers.get(stem) ?? 1) + 1;
  while (used.has(`${stem}_${number}`)) number += 1;
  lastNumbers.set(stem, number);
  return `${stem}_${number}`;
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
