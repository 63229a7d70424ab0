import { channel } from 'node:diagnostics_channel';
import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../../../../shared/json/json.ts';
import { lazySpec } from '../../../definitions/lazy-spec.ts';
import type { Conversion, Operation } from '../../../definitions/operation.ts';
import { spendOnCharacters, type ConversionBudget } from '../../conversion-budget.ts';
import { definitionsIn, gatherDefinitions, openDefinition } from './gather-definitions.ts';
import { parseExactly } from '../../../../shared/json/parse-exactly.ts';

/** Schemas of one document that are kept as they were built, in tokens: a few chats' worth of functions. */
const builtSchemasTokens = 500_000;

/** Where a text lies among the bytes: its first byte, and the one after its last. */
export type Piece = readonly [start: number, end: number];

/**
 * The schemas of a document's functions as JSON, which takes a tenth of the memory of objects, none of the heap, and no time to receive from a thread.
 * What many functions share is there once.
 */
interface PackedSchemas {
  bytes: SharedArrayBuffer;
  /** Where the definitions are by which functions share schemas: their names and pieces, as JSON. */
  directory: Piece;
}

/** An operation whose schema is packed. */
export interface PackedOperation extends Omit<Operation, 'spec'> {
  name: string;
  description: string;
  /** Its parameters; where they refer to definitions of the directory, without those. */
  parameters: Piece;
  sharesDefinitions: boolean;
  /** Names and descriptions of its arguments. */
  words: Piece;
  tokens: number;
}

/** A conversion that can be posted from one thread to another. */
export interface PackedConversion extends Omit<Conversion, 'operations'> {
  operations: PackedOperation[];
  schemas: PackedSchemas;
}

export interface SchemaPacker {
  /** Equal texts are kept, and paid for, once. @throws OmittedOperation when there is no room for it */
  pack(text: string): Piece;
  /** `directory`: where each definition was packed. */
  finish(directory: ReadonlyMap<string, Piece>): PackedSchemas;
}

const firstBytes = 4_096;

export function createSchemaPacker(budget: ConversionBudget): SchemaPacker {
  let bytes = Buffer.allocUnsafe(firstBytes);
  let length = 0;
  const known = new Map<string, Piece>();

  const append = (text: string): Piece => {
    // A character of UTF-16 takes at most three bytes.
    const needed = length + text.length * 3;
    if (needed > bytes.length) bytes = Buffer.concat([bytes.subarray(0, length)], Math.max(needed, bytes.length * 2));
    const start = length;
    length += bytes.write(text, start);
    return [start, length];
  };

  return {
    pack(text) {
      const packed = known.get(text);
      if (packed !== undefined) return packed;
      spendOnCharacters(budget, text.length);
      const piece = append(text);
      known.set(text, piece);
      return piece;
    },
    finish(directory) {
      const piece = append(JSON.stringify([...directory]));
      const shared = new SharedArrayBuffer(length);
      Buffer.from(shared).set(bytes.subarray(0, length));
      return { bytes: shared, directory: piece };
    },
  };
}

/** Published on the diagnostics channel `toolwharf.schema-built`: a function whose schema was built. */
export interface SchemaBuiltEvent {
  name: string;
}
const builtEvents = channel('toolwharf.schema-built');

/** The functions of a packed document: each schema is built when it is read, and those that were used last are kept. */
export function unpackConversion({ operations, schemas, ...rest }: PackedConversion): Conversion {
  const bytes = Buffer.from(schemas.bytes);
  const textAt = ([start, end]: Piece): string => bytes.toString('utf8', start, end);
  const objectAt = (piece: Piece): JsonObject => parseExactly(textAt(piece)) as JsonObject;
  const built = new LRUCache<PackedOperation, JsonObject>({ maxSize: builtSchemasTokens });
  let directory: ReadonlyMap<string, Piece> | undefined;

  const addDefinitions = (own: JsonObject, ownCharacters: number): JsonObject => {
    directory ??= new Map(parseExactly(textAt(schemas.directory)) as [string, Piece][]);
    const found = new Map<string, JsonObject>();
    const { names, open } = gatherDefinitions({ names: definitionsIn(own), ownCharacters }, (name) => {
      const piece = directory?.get(name);
      if (piece === undefined) return undefined;
      const targets = (): string[] => {
        const schema = objectAt(piece);
        found.set(name, schema);
        return definitionsIn(schema);
      };
      return { characters: piece[1] - piece[0], targets };
    });
    const definitions = names.map((name) => [name, found.get(name)] as const);
    return { ...own, $defs: Object.fromEntries([...definitions, ...open.map((name) => [name, openDefinition] as const)]) };
  };

  const build = (operation: PackedOperation, isKept: boolean): JsonObject => {
    const known = built.get(operation);
    if (known !== undefined) return known;
    const [start, end] = operation.parameters;
    const own = objectAt(operation.parameters);
    const parameters = operation.sharesDefinitions ? addDefinitions(own, end - start) : own;
    if (isKept) built.set(operation, parameters, { size: Math.max(1, operation.tokens) });
    if (builtEvents.hasSubscribers) builtEvents.publish({ name: operation.name } satisfies SchemaBuiltEvent);
    return parameters;
  };

  return {
    ...rest,
    operations: operations.map((operation): Operation => {
      const { name, description, parameters: _parameters, sharesDefinitions: _shares, words, tokens, ...kept } = operation;
      const lazy = { tokens, parameterWords: () => textAt(words), build: (isKept: boolean) => build(operation, isKept) };
      return { ...kept, spec: lazySpec({ name, description }, lazy) };
    }),
  };
}
