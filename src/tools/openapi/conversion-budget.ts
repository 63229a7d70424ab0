import { isContainer, type JsonValue } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';
import { OmittedOperation } from '../definitions/operation.ts';

/**
 * One document of a registered server (`ConversionBudget` says what each of the three counts), against hostile ones: no real document takes a
 * tenth of it. At worst ten seconds in a thread.
 */
const registeredNodesLimit = 8_000_000;
const registeredValuesLimit = 5_000_000;
const registeredCharactersLimit = 32_000_000;
/** All documents of one request, which any caller may send: half a second of a thread at worst, and enough for all functions of the largest real ones. */
const requestNodesLimit = 300_000;
const requestValuesLimit = 500_000;

/** Nodes that are converted on the main thread, which blocks everything else: 20 ms. Documents of 64 KB take a quarter of that. */
const waitedForNodes = 15_000;
const waitedForValues = 50_000;

/** The remaining budget for converting documents; shared by all documents that arrive together. */
export interface ConversionBudget {
  /** Schemas, copied keys, choices and the like: each takes about a microsecond and a hundred bytes. */
  nodesLeft: number;
  /** Values that may still be searched for recursion; each takes a tenth of a microsecond. */
  valuesLeft: number;
  /** Characters that may still be packed, as JSON. */
  charactersLeft: number;
  /** With less left, schemas are no longer written out in each function, but refer to definitions that all share. */
  sparing: { nodes: number; characters: number };
}

/** Takes nodes from the budget. @throws BudgetSpent when there are not as many. */
export type Spend = (nodes: number) => void;

export const spentReason = 'all schemas of the document together are too large';
export const outgrownReason = 'all functions of the document together are too large';

/** Nothing more is converted with this budget. */
export class BudgetSpent extends OmittedOperation {
  constructor() {
    super(spentReason);
  }
}

/** Trying an operation takes time even where it has no schema. */
export const operationNodes = 10;
/** Characters that cost as much as a node: without counting them a few long texts, referred to often, make megabytes. */
const charactersPerNode = 256;

/** For one document of a registered server. */
export function createRegisteredBudget(): ConversionBudget {
  const [registeredNodes, registeredValues, registeredCharacters] = [
    registeredNodesLimit,
    registeredValuesLimit,
    registeredCharactersLimit,
  ];
  return createBudget({ nodesLeft: registeredNodes, valuesLeft: registeredValues, charactersLeft: registeredCharacters });
}

/** For all documents of one request together. */
export function createRequestBudget(): ConversionBudget {
  const [requestNodes, requestValues, requestCharacters] = [requestNodesLimit, requestValuesLimit, limits.requestCharacters];
  return createBudget({ nodesLeft: requestNodes, valuesLeft: requestValues, charactersLeft: requestCharacters });
}

/** One half may be spent on what is easier to read; the other is for those who come later. */
export function createBudget(left: Omit<ConversionBudget, 'sparing'>): ConversionBudget {
  return { ...left, sparing: { nodes: left.nodesLeft / 2, characters: left.charactersLeft / 2 } };
}

/** The part of a budget that may be spent on the main thread, while everything else waits. */
export function createTrialBudget({ nodesLeft, valuesLeft, charactersLeft, sparing }: ConversionBudget): ConversionBudget {
  const nodes = Math.min(nodesLeft, waitedForNodes);
  return {
    nodesLeft: nodes,
    valuesLeft: Math.min(valuesLeft, waitedForValues),
    charactersLeft,
    // Reached after as many nodes as it would be with the whole budget.
    sparing: { ...sparing, nodes: sparing.nodes - (nodesLeft - nodes) },
  };
}

/** Whether schemas are shared as far as possible, so that what is left is enough for all. */
export function isSparing({ nodesLeft, charactersLeft, sparing }: ConversionBudget): boolean {
  return nodesLeft < sparing.nodes || charactersLeft < sparing.characters;
}

/** Whether too little is left to convert anything. */
export function isSpent({ nodesLeft, valuesLeft }: ConversionBudget): boolean {
  return nodesLeft < operationNodes || valuesLeft <= 0;
}

/** The way to spend this budget's nodes. */
export function spendFrom(budget: ConversionBudget): Spend {
  return (nodes) => {
    budget.nodesLeft -= nodes;
    if (budget.nodesLeft < 0) throw new BudgetSpent();
  };
}

/** @throws OmittedOperation when there is no room for so many characters; what is smaller may still fit. */
export function spendOnCharacters(budget: ConversionBudget, characters: number): void {
  if (characters > budget.charactersLeft) throw new OmittedOperation(outgrownReason);
  budget.charactersLeft -= characters;
}

/** The cost of a text beyond its node. */
export function textCost(text: string): number {
  return Math.floor(text.length / charactersPerNode);
}

/** Pays for a value with everything in it; `undefined` costs nothing. */
export function spendOnValue(value: JsonValue | undefined, spend: Spend): void {
  if (value === undefined) return;
  if (typeof value === 'string') return spend(1 + textCost(value));
  spend(1);
  if (!isContainer(value)) return;
  spendOnNames(Object.keys(value), spend);
  for (const child of Object.values(value)) spendOnValue(child, spend);
}

/** Pays for the keys of an object. */
export function spendOnNames(names: readonly string[], spend: Spend): void {
  spend(names.length);
  let cost = 0;
  for (const name of names) cost += textCost(name);
  spend(cost);
}
