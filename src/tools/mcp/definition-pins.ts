import { GatewayError } from '../../core/errors.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { Registry, ToolServerRecord } from '../../core/registry.ts';
import { changedParts, fingerprintOf } from './fingerprint.ts';
import type { DefinitionPrint } from './fingerprint.ts';

/** By name, in what the definition differs from the one that was first seen. */
export type HeldDefinitions = Map<string, string[]>;

/**
 * Remembers every function of a server as it was first seen, over restarts, because a server that was examined and found good may say something
 * else tomorrow. A server that moved to another address begins anew: an administrator has moved it.
 */
export interface DefinitionPins {
  /** Remembers what is new and gives what has changed. */
  check(record: ToolServerRecord, prints: ReadonlyMap<string, DefinitionPrint>): Promise<HeldDefinitions>;
  /**
   * Takes changed definitions as they are now: `accepted` holds the fingerprint of each that was looked at.
   * @throws GatewayError `invalid_request` for a function that is not there, `conflict` when it has changed once more.
   */
  accept(record: ToolServerRecord, accepted: ReadonlyMap<string, string>, prints: ReadonlyMap<string, DefinitionPrint>): Promise<void>;
}

export type FactStore = Pick<Registry, 'readFact' | 'writeFact'>;

export function createDefinitionPins({ readFact, writeFact }: FactStore): DefinitionPins {
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other: two that read, change and write at once would lose a change. */
  function inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const turn = last.then(work, work);
    last = turn.catch(() => undefined);
    return turn;
  }

  async function read(record: ToolServerRecord): Promise<Map<string, DefinitionPrint>> {
    const fact = parseFact(await readFact(factName(record)));
    return fact?.place === placeOf(record) ? fact.pins : new Map();
  }

  const write = (record: ToolServerRecord, pins: ReadonlyMap<string, DefinitionPrint>): Promise<void> =>
    writeFact(factName(record), JSON.stringify({ place: placeOf(record), pins: Object.fromEntries(pins) }));

  return {
    check: (record, prints) =>
      inTurn(async () => {
        const pins = await read(record);
        const fresh = [...prints].filter(([name]) => !pins.has(name));
        // What has gone stays remembered, or it could come back as something else.
        const kept = new Map([...pins, ...fresh].slice(-limits.mcpPins));
        if (fresh.length > 0) await write(record, kept);
        const changed = [...prints].map(([name, print]) => [name, changedParts(pins.get(name) ?? print, print)] as const);
        return new Map(changed.filter(([, parts]) => parts.length > 0));
      }),
    accept: (record, accepted, prints) =>
      inTurn(async () => {
        const pins = await read(record);
        for (const [name, fingerprint] of accepted) {
          const print = prints.get(name);
          if (print === undefined) throw unknownFunction(name, record);
          if (fingerprintOf(print) !== fingerprint) throw changedAgain(name);
          pins.set(name, print);
        }
        await write(record, pins);
      }),
  };
}

/** For a server that is only looked at: nothing is remembered and nothing held. */
export const noPins: DefinitionPins = { check: async () => new Map(), accept: async () => undefined };

function factName({ id }: ToolServerRecord): string {
  return `mcp definitions of ${id}`;
}

function placeOf({ url, process }: ToolServerRecord): string {
  return process === undefined ? url : JSON.stringify([process.command, ...process.args]);
}

function parseFact(text: string | undefined): { place: unknown; pins: Map<string, DefinitionPrint> } | undefined {
  if (text === undefined) return undefined;
  const fact: unknown = JSON.parse(text);
  if (!isJsonObject(fact)) return undefined;
  const pins = ownValue(fact, 'pins');
  return { place: ownValue(fact, 'place'), pins: new Map(Object.entries(isJsonObject(pins) ? pins : {}) as [string, DefinitionPrint][]) };
}

function unknownFunction(name: string, { id }: ToolServerRecord): GatewayError {
  return new GatewayError('invalid_request', `functions: the server "${id}" has no function "${name.slice(0, 100)}".`, {
    param: 'functions',
  });
}

function changedAgain(name: string): GatewayError {
  return new GatewayError(
    'conflict',
    `The definition of "${name.slice(0, 100)}" has changed once more. Read the report again, and agree to what stands there.`,
  );
}
