import { isJsonObject, type JsonObject, type JsonValue } from '../../../../shared/json/json.ts';
import type { ConversionBudget } from '../../conversion-budget.ts';
import { findReference, nestedValues } from '../../document/resolve-references.ts';
import { referenceOf } from '../../../../shared/json-schema/resolve.ts';

/** Tells whether what a reference points at contains, at any depth and through other references, that reference again. */
export type RecursionFinder = (reference: string) => boolean;

interface Node {
  reference: string;
  targets: string[];
  nextTarget: number;
  index: number;
  lowest: number;
  isOpen: boolean;
  isRecursive: boolean;
}

/**
 * Strongly connected components of the references (Tarjan 1972), found on demand: linear in the document, and without the call
 * stack, because a document may chain more references than a stack has frames. References into each other's insides could cost without end:
 * once the budget's values are spent everything counts as recursive, which is never wrong: recursive schemas are merely written differently.
 */
export function createRecursionFinder(document: JsonObject, budget: Pick<ConversionBudget, 'valuesLeft'>): RecursionFinder {
  const nodes = new Map<string, Node>();
  const open: Node[] = [];

  const enter = (reference: string): Node => {
    const targets = budget.valuesLeft > 0 ? [...collectReferences(findReference(document, reference), budget)] : [reference];
    const node = { reference, targets, nextTarget: 0, index: nodes.size, lowest: nodes.size, isOpen: true, isRecursive: false };
    nodes.set(reference, node);
    open.push(node);
    return node;
  };

  const leave = (node: Node): void => {
    if (node.lowest !== node.index) return;
    const component = open.splice(open.lastIndexOf(node));
    for (const member of component) {
      member.isOpen = false;
      member.isRecursive = component.length > 1 || member.targets.includes(member.reference);
    }
  };

  const visit = (start: string): void => {
    const path = [enter(start)];
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const target = node.targets[node.nextTarget];
      node.nextTarget += 1;
      if (target === undefined) {
        path.pop();
        const parent = path.at(-1);
        if (parent !== undefined) parent.lowest = Math.min(parent.lowest, node.lowest);
        leave(node);
        continue;
      }
      const known = nodes.get(target);
      if (known === undefined) path.push(enter(target));
      else if (known.isOpen) node.lowest = Math.min(node.lowest, known.index);
    }
  };

  return (reference) => {
    if (!nodes.has(reference)) visit(reference);
    return nodes.get(reference)?.isRecursive ?? true;
  };
}

function collectReferences(root: JsonValue | undefined, budget: Pick<ConversionBudget, 'valuesLeft'>): Set<string> {
  const found = new Set<string>();
  for (const value of nestedValues(root)) {
    const reference = isJsonObject(value) ? referenceOf(value) : undefined;
    if (reference !== undefined) found.add(reference);
    budget.valuesLeft -= 1 + Object.keys(value).length;
    if (budget.valuesLeft <= 0) break;
  }
  return found;
}
