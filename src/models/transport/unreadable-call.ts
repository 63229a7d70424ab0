import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

interface Wording {
  begins: RegExp;
  /** What the model wrote, in the text after the beginning. Undefined: it is not repeated there, so the error has another wording. */
  written?: (rest: string) => string | undefined;
}

/**
 * What servers say that could not read a call that their own model wrote. Each pattern finds a beginning alone: one for the text up to an end would search
 * for that end from every beginning that the text has.
 */
const wordings: readonly Wording[] = [
  // Ollama: its parsers of harmony and of other formats.
  { begins: /\berror parsing tool call: raw='/u, written: before("', err=") },
  { begins: /\berror parsing tool call\b/u },
  { begins: /\bXML syntax error on line \d+:/u },
  { begins: /\bfailed to parse JSON: (?:unexpected end|invalid character)/u },
  { begins: /\bexpected element type <\w{1,100}> but have </u },
  // llama.cpp, since it has a parser for each template. What follows the position is the text from there on.
  { begins: /\bFailed to parse input at pos \d+:/u, written: (rest) => rest },
  { begins: /\bThe model produced output that does not match the expected\b/u },
  { begins: /\bInvalid diff: /u },
  // The parser of harmony in vLLM and others.
  { begins: /\bunexpected tokens remaining in message header\b/u },
  { begins: /\bUnexpected token \d+ while expecting start token\b/u },
  // LM Studio.
  { begins: /\bFailed to (?:parse|generate a) tool call:/iu, written: after(/\bModel Output:/iu) },
  { begins: /\bFailed to (?:parse|generate a) tool call:/iu },
  // SGLang.
  { begins: /\bFailed to parse fc related info to json format\b/u },
  // Groq, where it does not say so by its code.
  { begins: /\bFailed to call a function\. Please adjust your prompt\b/u },
  { begins: /\btool call validation failed\b/iu },
];

/** Groq's codes, which others imitate, and the one of Text Generation Inference. */
const codes = new Set<unknown>(['tool_use_failed', 'output_parse_failed', 'tool_error']);
/** Ollama 0.11 reports such a failure under its own words instead of `error`. */
const ownField = 'error parsing tool call';

/** A report that the server could not read a call of its model. `written`: what the model wrote, if it is repeated. */
export interface UnreadableCall {
  written?: string;
}

/** Undefined: the report is about something else. `error`: the object of the error; `message`: all of its message. */
export function findUnreadableCall(error: JsonValue | undefined, message: string | undefined): UnreadableCall | undefined {
  const fields = isJsonObject(error) ? error : {};
  const { failed_generation: generation, code, error_type: type } = fields;
  if (codes.has(code) || codes.has(type)) return typeof generation === 'string' && generation !== '' ? { written: generation } : {};
  const text = message ?? '';
  for (const { begins, written: writtenIn } of wordings) {
    const found = begins.exec(text);
    if (found === null) continue;
    const repeated = writtenIn?.(text.slice(found.index + found[0].length));
    if (repeated === undefined && writtenIn !== undefined) continue;
    const written = typeof generation === 'string' ? generation : repeated?.trim();
    return written === undefined || written === '' ? {} : { written };
  }
  return undefined;
}

function before(mark: string): (rest: string) => string | undefined {
  return (rest) => {
    const end = rest.lastIndexOf(mark);
    return end === -1 ? undefined : rest.slice(0, end);
  };
}

function after(mark: RegExp): (rest: string) => string | undefined {
  return (rest) => {
    const found = mark.exec(rest);
    return found === null ? undefined : rest.slice(found.index + found[0].length);
  };
}

/** The message of a report that has no other; undefined if it has none. */
export function messageInOwnField(report: JsonObject): string | undefined {
  const message = ownValue(report, ownField);
  return typeof message === 'string' ? `${ownField}: ${message}` : undefined;
}
