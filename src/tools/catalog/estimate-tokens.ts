import type { ToolSpec } from '../../core/tool.ts';

const charactersPerToken = 4;
/** Every chat asks for every function again. */
const known = new WeakMap<ToolSpec, number>();

/**
 * The size of a function as a model reads it, estimated at four characters a token: tokenizers differ by more than this is wrong.
 */
export function estimateFunctionTokens(spec: ToolSpec): number {
  const before = known.get(spec);
  if (before !== undefined) return before;
  const { name, description, parameters } = spec;
  const text = JSON.stringify({ type: 'function', function: { name, description, parameters } });
  const tokens = Math.ceil(text.length / charactersPerToken);
  known.set(spec, tokens);
  return tokens;
}
