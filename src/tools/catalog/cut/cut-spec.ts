import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Tool, ToolSpec } from '../../../core/tools/tool.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { shortened } from './cut-nodes.ts';
import { cutSchema } from './cut-schema.ts';
import { charactersPerToken, lazySpec, parametersOnce, parameterWordsOf, tokensOfDefinition } from '../../definitions/lazy-spec.ts';

/**
 * Tokens of one function, where not all functions fit whole: a quarter of all, so that the largest leaves room for others. What is larger is cut in
 * depth, and `describe_function` gives the rest.
 */
export const functionTokens = 4_000;

/** Characters of a description beside parameters that are cut: an eighth of the function's share. */
const descriptionCharacters = (functionTokens * charactersPerToken) / 8;

/** The tool with a function that is cut to its share of the offer when its parameters are read. `describer`: the function that gives the rest. */
export function cutTool(tool: Tool, describer: string): Tool {
  return { ...tool, spec: cutSpec(tool.spec, describer), whole: tool.spec };
}

/**
 * Cuts the functions that are about to be offered, each in a turn of the event loop of its own: one takes up to 30 ms, and who offers them, such as a
 * wire format, reads all of them in one turn.
 */
export async function cutAhead(tools: Iterable<Tool>): Promise<void> {
  for (const { spec, whole } of tools) {
    if (whole === undefined) continue;
    await nextTurn();
    read(spec);
  }
}

function read({ parameters }: ToolSpec): JsonObject {
  return parameters;
}

/**
 * Cut to `functionTokens`, once: the offer reads it several times, and the whole schema must not be retained for so long. Never strict: a strict
 * backend rejects the shortened schemas.
 */
function cutSpec(whole: ToolSpec, describer: string): ToolSpec {
  const { name } = whole;
  const words = shortened(whole.description, descriptionCharacters);
  const description =
    `${words}${words === '' ? '' : '\n'}Its parameters are shortened: ${describer} returns the schema at a pointer after "More:", ` +
    `as in {"name": "${name}", "pointer": "/a/b"}. Parameters that are not shown may be passed too.`;
  const frame = tokensOfDefinition({ name, description }, 0);
  let kept: JsonObject | undefined;
  return lazySpec(
    { name, description },
    {
      tokens: functionTokens,
      parameterWords: () => parameterWordsOf(whole, Infinity),
      build(isKept) {
        if (kept !== undefined) return kept;
        const cut = cutParameters(isKept ? whole.parameters : parametersOnce(whole), (functionTokens - frame) * charactersPerToken);
        if (isKept) kept = cut;
        return cut;
      },
    },
  );
}

/** By the whole schema, and so for as long as that is kept. */
const cutBefore = new WeakMap<JsonObject, { characters: number; schema: JsonObject }>();

function cutParameters(whole: JsonObject, characters: number): JsonObject {
  const before = cutBefore.get(whole);
  if (before?.characters === characters) return before.schema;
  const { schema } = cutSchema(whole, characters);
  cutBefore.set(whole, { characters, schema });
  return schema;
}
