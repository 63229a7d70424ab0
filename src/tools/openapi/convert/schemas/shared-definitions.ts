import type { JsonObject } from '../../../../shared/json/json.ts';
import type { SecretMask } from '../../../../shared/secrets/secret-mask.ts';
import type { OmittedOperation } from '../../../definitions/operation.ts';
import { SchemaAdapter } from './adapt-schema.ts';
import type { AdapterOptions } from './adapter-options.ts';
import { spendFrom } from '../../conversion-budget.ts';
import {
  definitionsIn,
  gatherDefinitions,
  type CountedDefinition,
  type GatheredDefinitions,
  functionCharacters,
} from './gather-definitions.ts';
import type { Piece, SchemaPacker } from './packed-schemas.ts';

/** Definitions that cost as much as a node to walk over once more. */
const definitionsPerNode = 8;

/** Schemas within one definition: more than fit into a function. Parts that double at each level must not spend what is there for the others. */
const definitionNodes = 50_000;

/** Every schema that is referred to as one definition, which all functions of a document share: it is adapted and packed once. */
export interface SharedDefinitions {
  /** Its schemas refer to the definitions. */
  adapter: SchemaAdapter;
  /**
   * What belongs to a function whose parameters, of so many characters, refer to these.
   * @throws OmittedOperation where one of them cannot be a schema, and when the budget is spent
   */
  gather(names: readonly string[], ownCharacters: number): GatheredDefinitions;
  /** Where all that were gathered are. */
  directory: ReadonlyMap<string, Piece>;
}

export function createSharedDefinitions(
  options: Pick<AdapterOptions, 'document' | 'isRecursive' | 'shared'>,
  { packer, mask }: { packer: SchemaPacker; mask: SecretMask },
): SharedDefinitions {
  const spend = spendFrom(options.shared.budget);
  const problems = new Map<string, OmittedOperation>();
  const adapter = new SchemaAdapter({ ...options, keepsReferences: true, maxNodes: definitionNodes, problems, hide: mask.text });
  const counted = new Map<string, CountedDefinition>();
  const directory = new Map<string, Piece>();
  /** By the names that they begin with: most functions of a document begin with the same few. */
  const gathered = new Map<string, GatheredDefinitions>();

  const count = (name: string, schema: JsonObject): CountedDefinition => {
    const masked = mask.value(schema);
    const text = JSON.stringify(masked);
    directory.set(name, packer.pack(text));
    const targets = definitionsIn(masked);
    const definition: CountedDefinition = { characters: text.length, targets: () => targets };
    counted.set(name, definition);
    return definition;
  };

  const find = (name: string): CountedDefinition | undefined => {
    const problem = problems.get(name);
    if (problem !== undefined) throw problem;
    const schema = adapter.definitions[name] as JsonObject | undefined;
    return counted.get(name) ?? (schema === undefined ? undefined : count(name, schema));
  };

  return {
    adapter,
    gather(names, ownCharacters) {
      const key = names.join('\n');
      const known = gathered.get(key);
      if (known !== undefined && known.open.length === 0 && known.cost + ownCharacters <= functionCharacters) return known;
      const found = gatherDefinitions({ names, ownCharacters }, find);
      spend(Math.ceil(found.names.length / definitionsPerNode));
      gathered.set(key, found);
      return found;
    },
    directory,
  };
}
