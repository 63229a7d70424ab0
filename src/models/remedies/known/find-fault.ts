import type { GatewayError } from '../../../core/errors.ts';
import type { ModelRequest } from '../../../core/models/model.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { nameOfFunction } from '../../schema-profiles/caller-schemas.ts';
import { aboutMakingGrammar, isAboutOutput } from '../refusal-wordings.ts';

/**
 * Which function a backend complains about; `unnamed`: one of them. `pointsAt`: the fewest words that say so, where they cannot be about anything else,
 * because more of them may be half a quotation; undefined where a name merely occurs.
 */
type SchemaFault = { type: 'named'; spec: ToolSpec; pointsAt: string | undefined } | { type: 'unnamed'; pointsAt: string | undefined };

const searchedCharacters = 4_000;
/** OpenAI and its imitators: `tools[3].function.parameters`, `tools.3.…`; Gemini: `tools[0].function_declarations[3].parameters`. */
const places = [/function_?declarations[[.](\d{1,3})/i, /\btools[[.](\d{1,3})/i, /\bfunctions[[.](\d{1,3})/i];
const aboutSchema =
  /schema|\bstrict\b|json|parameter|propert|items|\benum\b|\$ref|\$defs|grammar|unmarshal|function_?declaration|additionalProperties|additional_properties/i;
/** llama.cpp and vLLM name no function. */
const aboutGrammar =
  /\bgrammar\b|\bjson[ _]?schema\b|\binvalid[_ ](?:tool )?function[_ ]parameters\b|\btools? with (?:mixed values for )?['"`]?strict\b|tools?\b.{0,60}\bunmarshal|unmarshal.{0,80}\btools?\b/i;
/** A complaint about the schema of a function, in the server's own words: nothing quoted stands before the name. */
const aboutSchemaOf = [
  /^[^'"`{}]{0,200}?\bschema\b[^'"`{}]{0,20}\b(?:for|of|in) (?:the )?((?:function|tool)s?:? ['"`]?([\w-]{1,64}))/i,
  /^[^'"`{}]{0,200}?\b((?:function|tool)s?:? ['"`]?([\w-]{1,64}))['"`]?[:,]? [^'"`{}]{0,80}\b(?:(?:invalid|unsupported|malformed)\b[^'"`{}]{0,40}\bschema|schema\b[^'"`{}]{0,40}\b(?:invalid|unsupported|malformed|not (?:supported|valid)))\b/i,
];
/** A complaint about another part of the request. */
const aboutOtherPart = /response_?format|\bmessages?[[.]\d|\btext\.format\b|\btool_choice\b/i;

/**
 * The function whose schema the backend refused, by the words of its error; undefined when the error is about something else.
 * Only refusals of the request count: a backend that is overloaded or unreachable has said nothing about functions.
 */
export function findFault(
  { code, message, param }: GatewayError,
  { tools, callerTools, parameters }: ModelRequest,
): SchemaFault | undefined {
  if (code !== 'upstream_rejected' && code !== 'upstream_error') return undefined;
  const text = message.slice(0, searchedCharacters);
  const place = findPlace(param ?? '') ?? (param === null ? findPlace(text) : undefined);
  if (place !== undefined) {
    const spec = tools[place.index];
    return spec && { type: 'named', spec, pointsAt: place.words };
  }
  // The parameter that is named is something else.
  if (param !== null && !/^(?:tools?|functions?)\b/i.test(param)) return undefined;
  for (const wording of aboutSchemaOf) {
    const [said, pointsAt = '', name] = wording.exec(text) ?? [];
    if (said === undefined || isAboutOutput(said)) continue;
    const spec = tools.find((one) => one.name === name);
    if (spec !== undefined) return { type: 'named', spec, pointsAt };
    // A quoted name that is not among the gateway's functions is that of a function of the caller.
    if (/['"`]/.test(pointsAt)) return undefined;
  }
  if (!aboutSchema.test(text) || aboutOtherPart.test(text) || isAboutOutput(text)) return undefined;
  // A long name first: a short one may be part of it.
  const byName = tools.toSorted((one, other) => other.name.length - one.name.length).find(({ name }) => isNamed(text, name));
  if (byName !== undefined) {
    const isElsewhere = Object.hasOwn(parameters, byName.name) || isFormNamed(parameters['response_format'], byName.name);
    return isElsewhere ? undefined : { type: 'named', spec: byName, pointsAt: undefined };
  }
  const grammar = findNamedCaller(text, callerTools) === undefined ? aboutGrammar.exec(text) : null;
  return grammar === null ? undefined : { type: 'unnamed', pointsAt: aboutMakingGrammar.exec(text)?.[0] };
}

/** A caller's function whose schema the backend refused. Without a name: one of them, or one of the gateway's. */
export interface CallerFault {
  name: string | undefined;
  words: string;
}

/** The same for functions of the caller. */
export function findCallerFault(
  { code, message, param }: GatewayError,
  { tools, callerTools }: Pick<ModelRequest, 'tools' | 'callerTools'>,
): CallerFault | undefined {
  if (code !== 'upstream_rejected' && code !== 'upstream_error') return undefined;
  const text = message.slice(0, searchedCharacters);
  const place = findPlace(param ?? '') ?? (param === null ? findPlace(text) : undefined);
  if (place !== undefined) {
    const entry = callerTools[place.index - tools.length];
    return entry && { name: nameOfFunction(entry), words: place.words };
  }
  if (param !== null && !/^(?:tools?|functions?)\b/i.test(param)) return undefined;
  if (isAboutOutput(text) || aboutOtherPart.test(text)) return undefined;
  const about = aboutSchema.exec(text);
  const name = about === null ? undefined : findNamedCaller(text, callerTools);
  if (about !== null && name !== undefined) return { name, words: about[0] };
  if (tools.some((spec) => isNamed(text, spec.name))) return undefined;
  const grammar = aboutGrammar.exec(text);
  return grammar === null ? undefined : { name: undefined, words: grammar[0] };
}

/** A long name first: a short one may be part of it. */
function findNamedCaller(text: string, callerTools: readonly JsonObject[]): string | undefined {
  const names = callerTools.flatMap((entry) => nameOfFunction(entry) ?? []);
  return names.toSorted((one, other) => other.length - one.length).find((name) => isNamed(text, name));
}

/** Which function a path leads to, counted over the whole offer. */
function findPlace(text: string): { words: string; index: number } | undefined {
  for (const place of places) {
    const found = place.exec(text);
    if (found === null) continue;
    const path = /^[\w.[\]]*/.exec(text.slice(found.index))?.[0] ?? '';
    const isOfFunction = !isAboutOutput(text.slice(0, found.index) + path);
    return isOfFunction ? { words: found[0], index: Number(found[1]) } : undefined;
  }
  return undefined;
}

/** As a word of its own, in quotes or after "function": a function called `get` must not be found in every sentence. */
function isNamed(text: string, name: string): boolean {
  const quoted = ["'", '"', '`'].some((quote) => text.includes(`${quote}${name}${quote}`));
  return quoted || new RegExp(`\\b(?:function|tool)s?:? ${name.replaceAll('-', '\\-')}(?![\\w-])`, 'i').test(text);
}

function isFormNamed(format: unknown, name: string): boolean {
  return isJsonObject(format) && isJsonObject(format['json_schema']) && format['json_schema']['name'] === name;
}
