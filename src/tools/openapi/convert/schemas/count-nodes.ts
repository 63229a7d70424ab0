import { limits } from '../../../../core/limits.ts';
import { OmittedOperation } from '../../../definitions/operation.ts';
import type { Spend } from '../../conversion-budget.ts';

/** The schemas of one function grew beyond what was allowed for them. */
export class SchemaTooLarge extends OmittedOperation {}

/** Counts the schemas that are written for one function, and how deep they are nested. */
export class NodeCounter {
  nodes = 0;
  deepest = 0;
  /** From where `maxNodes` are counted. */
  #start = 0;
  readonly #maxNodes: number;
  readonly #spend: Spend;

  constructor(maxNodes: number, spend: Spend) {
    this.#maxNodes = maxNodes;
    this.#spend = spend;
  }

  /** @throws SchemaTooLarge */
  count(depth: number, added = { nodes: 1, cost: 1 }): void {
    this.nodes += added.nodes;
    this.deepest = Math.max(this.deepest, depth);
    this.#spend(added.cost);
    if (this.nodes - this.#start > this.#maxNodes) throw this.#tooMany();
    if (depth > limits.documentDepth) throw new SchemaTooLarge(`its parameters are nested deeper than ${limits.documentDepth} levels`);
  }

  /** Before schemas that have at least so many nodes. @throws SchemaTooLarge */
  requireRoomFor(nodes: number): void {
    if (this.nodes + nodes > this.#maxNodes) throw this.#tooMany();
  }

  isFull(): boolean {
    return this.nodes > this.#maxNodes;
  }

  /** Gives what follows the whole of `maxNodes`. */
  startAnew(): void {
    this.#start = this.nodes;
  }

  #tooMany(): SchemaTooLarge {
    return new SchemaTooLarge(`its parameters have more than ${this.#maxNodes} schemas`);
  }
}
