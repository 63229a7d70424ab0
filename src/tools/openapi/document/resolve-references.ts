import { findByPointer } from '../../../shared/json-schema/pointer.ts';
import { maxHops, referenceOf } from '../../../shared/json-schema/resolve.ts';
import { isContainer, isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { BudgetSpent, type Spend } from '../conversion-budget.ts';
import { OmittedOperation } from '../../definitions/operation.ts';

/** References into the middle of a document have a few hundred; each character takes time whenever one is followed. */
const referenceCharacters = 1_000;
/** Characters of a reference that cost as much as a node. */
const charactersPerNode = 16;

/**
 * What an internal reference (`#/components/…`, RFC 6901 in a URI fragment) points at. What it costs is spent.
 * @throws OmittedOperation for a dangling reference, and for one that leaves the document: those are never followed.
 */
export function resolveReference(document: JsonObject, reference: string, spend?: Spend): JsonValue {
  const omitted = (reason: string): OmittedOperation => new OmittedOperation(`the reference "${shown(reference)}" ${reason}`);
  if (reference.length > referenceCharacters) throw omitted(`has more than ${referenceCharacters} characters`);
  spend?.(2 + Math.floor(reference.length / charactersPerNode));
  if (!reference.startsWith('#')) throw omitted('leaves the document');
  // `#name` would be an anchor, which OpenAPI documents do not have.
  const value = findReference(document, reference);
  if (value === undefined) throw omitted('points at nothing');
  return value;
}

/** As `resolveReference`, but undefined where that throws. */
export function findReference(document: JsonObject, reference: string): JsonValue | undefined {
  return reference.length > referenceCharacters ? undefined : findByPointer(document, reference);
}

/** The object itself, or what its `$ref` leads to; `undefined` for anything but an object. Keys beside `$ref` are not looked at. */
export function followReferences(document: JsonObject, value: JsonValue | undefined, spend?: Spend): JsonObject | undefined {
  let current = value;
  for (let hop = 0; hop < maxHops; hop += 1) {
    if (!isJsonObject(current)) return undefined;
    const reference = referenceOf(current);
    if (reference === undefined) return current;
    current = resolveReference(document, reference, spend);
  }
  throw new OmittedOperation('its references form a circle');
}

/** As `followReferences`, but undefined for a reference that cannot be resolved. */
export function tryFollow(document: JsonObject, value: JsonValue | undefined, spend: Spend): JsonObject | undefined {
  try {
    return followReferences(document, value, spend);
  } catch (error) {
    if (error instanceof BudgetSpent) throw error;
    return undefined;
  }
}

/** Every object and list within a value, itself included. Not recursive: a document may be nested deeper than the call stack. */
export function* nestedValues(root: JsonValue | undefined): Generator<JsonObject | JsonValue[]> {
  const waiting = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (!isContainer(value)) continue;
    yield value;
    for (const child of Object.values(value)) waiting.push(child);
  }
}

/** Longer references are hostile or broken, and the report is read by people. */
function shown(reference: string): string {
  return reference.length > 120 ? `${reference.slice(0, 120)}…` : reference;
}
