import pLimit from 'p-limit';
import { GatewayError, invalidField } from '../../../core/errors.ts';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { changedParts, fingerprintOf, type DefinitionHashes, type ListedDefinition } from './definition-hashes.ts';
import { createDefinitionWords, type FactStore } from './definition-texts.ts';

/** Pinned definitions of one server, including those of removed tools. */
const mcpPins = 2_000;

type HashesByName = ReadonlyMap<string, DefinitionHashes>;

type DefinitionsByName = ReadonlyMap<string, ListedDefinition>;

interface ChangedDefinition {
  /** The parts that differ from the pinned definition. */
  parts: string[];
  /** The pinned definition word by word; undefined if its words were not kept. */
  pinned: JsonObject | undefined;
}

/** By tool name. */
export type ChangedDefinitions = ReadonlyMap<string, ChangedDefinition>;

/**
 * Remembers, across restarts, every tool of a server as it was first seen: a server that passed a review may change what its tools claim to do later.
 * A server at another address is pinned afresh, because only an administrator can change the address.
 */
interface DefinitionPins {
  /** Pins new definitions and returns those that have changed. */
  check(record: ToolServerRecord, listed: DefinitionsByName): Promise<ChangedDefinitions>;
  /**
   * Accepts changed definitions. `accepted`: by tool name, the fingerprint that the administrator has seen.
   * @throws GatewayError `invalid_request` for an unknown tool, `conflict` if its definition has changed again
   */
  accept(record: ToolServerRecord, accepted: ReadonlyMap<string, string>, listed: DefinitionsByName): Promise<void>;
}

interface Pins {
  hashes: Map<string, DefinitionHashes>;
  /** False in facts of versions that kept only hashes. */
  hasWords: boolean;
}

export function createDefinitionPins(facts: FactStore): DefinitionPins {
  const { readFact, writeFact } = facts;
  const words = createDefinitionWords(facts);
  /** Serializes updates: concurrent read-modify-write cycles would lose changes. */
  const oneAtATime = pLimit(1);

  async function read(record: ToolServerRecord): Promise<Pins> {
    const fact: unknown = JSON.parse((await readFact(factName(record))) ?? '{}');
    const { place, pins, words: hasWords } = isJsonObject(fact) ? fact : {};
    const isKnown = place === addressOf(record) && isJsonObject(pins);
    return {
      hashes: new Map(isKnown ? (Object.entries(pins) as [string, DefinitionHashes][]) : []),
      hasWords: isKnown && hasWords === true,
    };
  }

  /** `said`: the definitions whose words are to be kept from now on. */
  async function write(record: ToolServerRecord, hashes: HashesByName, said: DefinitionsByName): Promise<void> {
    const place = addressOf(record);
    await words.save(record, { place, hashes, said });
    await writeFact(factName(record), JSON.stringify({ place, pins: Object.fromEntries(hashes), words: true }));
  }

  return {
    check: (record, listed) =>
      oneAtATime(async () => {
        const { hashes: pins, hasWords } = await read(record);
        const found = Array.from(listed, ([name, { hashes }]) => ({ name, parts: changedParts(pins.get(name) ?? hashes, hashes) }));
        const changed = found.filter(({ parts }) => parts.length > 0);
        const unkept = found.filter(({ name, parts }) => parts.length === 0 && !(hasWords && pins.has(name)));
        if (unkept.length > 0) {
          const said = new Map([...listed].filter(([name]) => unkept.some((each) => each.name === name)));
          const added = Array.from(said, ([name, { hashes }]) => [name, hashes] as const);
          // Removed tools stay pinned, or they could come back with another definition.
          await write(record, new Map([...pins, ...added].slice(-mcpPins)), said);
        }
        const pinned = changed.length === 0 ? undefined : await words.read(record, { place: addressOf(record), hashes: pins });
        return new Map(changed.map(({ name, parts }) => [name, { parts, pinned: pinned?.get(name) }]));
      }),
    accept: (record, accepted, listed) =>
      oneAtATime(async () => {
        const { hashes: pins } = await read(record);
        const said = new Map<string, ListedDefinition>();
        for (const [name, fingerprint] of accepted) said.set(name, requireDefinition(record, listed, { name, fingerprint }));
        for (const [name, { hashes }] of said) pins.set(name, hashes);
        await write(record, pins, said);
      }),
  };
}

function factName({ id }: ToolServerRecord): string {
  return `mcp definitions of ${id}`;
}

function addressOf({ url, process }: ToolServerRecord): string {
  return process === undefined ? url : JSON.stringify([process.command, ...process.args]);
}

function requireDefinition(
  { id }: ToolServerRecord,
  listed: DefinitionsByName,
  { name, fingerprint }: { name: string; fingerprint: string },
): ListedDefinition {
  const definition = listed.get(name);
  const shown = name.slice(0, 100);
  if (definition === undefined) throw invalidField('functions', `the server "${id}" has no function "${shown}".`);
  if (fingerprintOf(definition.hashes) === fingerprint) return definition;
  const message = `The definition of "${shown}" has changed again. Read the report again, and accept the definition that it shows.`;
  throw new GatewayError('conflict', message);
}
