import type { GatewayError } from '../../core/errors.ts';
import type { ToolSpec } from '../../core/tools/tool.ts';

/** Which function a backend complains about; `unnamed`: one of them. */
export type SchemaFault = { type: 'named'; spec: ToolSpec } | { type: 'unnamed' };

const searchedCharacters = 4_000;
/** OpenAI and its imitators: `tools[3].function.parameters`, `tools.3.…`; Gemini: `tools[0].function_declarations[3].parameters`. */
const places = [/function_?declarations[[.](\d{1,3})/i, /\btools[[.](\d{1,3})/i, /\bfunctions[[.](\d{1,3})/i];
const aboutSchema =
  /schema|\bstrict\b|json|parameter|propert|items|\benum\b|\$ref|\$defs|grammar|unmarshal|function_?declaration|additionalProperties|additional_properties/i;
/** llama.cpp and vLLM name no function. */
const aboutGrammar = /\bgrammar\b|\bjson[ _]?schema\b|invalid_function_parameters|tools?\b.{0,60}\bunmarshal|unmarshal.{0,80}\btools?\b/i;

/**
 * The function whose schema the backend refused, by the words of its error; undefined when the error is about something else.
 * Only refusals of the request count: a backend that is overloaded or unreachable has said nothing about functions.
 */
export function findFault({ code, message, param }: GatewayError, tools: readonly ToolSpec[]): SchemaFault | undefined {
  if (code !== 'upstream_rejected' && code !== 'upstream_error') return undefined;
  const text = `${param ?? ''} ${message}`.slice(0, searchedCharacters);
  if (!aboutSchema.test(text)) return undefined;
  // A long name first: a short one may be part of it.
  const byName = tools.toSorted((one, other) => other.name.length - one.name.length).find(({ name }) => isNamed(text, name));
  if (byName !== undefined) return { type: 'named', spec: byName };
  for (const place of places) {
    const index = place.exec(text)?.[1];
    const spec = index === undefined ? undefined : tools[Number(index)];
    if (spec !== undefined) return { type: 'named', spec };
  }
  return aboutGrammar.test(text) ? { type: 'unnamed' } : undefined;
}

/** As a word of its own, in quotes or after "function": a function called `get` must not be found in every sentence. */
function isNamed(text: string, name: string): boolean {
  const quoted = ["'", '"', '`'].some((quote) => text.includes(`${quote}${name}${quote}`));
  return quoted || new RegExp(`\\b(?:function|tool)s?:? ${name.replaceAll('-', '\\-')}(?![\\w-])`, 'i').test(text);
}
