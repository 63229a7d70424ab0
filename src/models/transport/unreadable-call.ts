import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

/** What servers say that could not read a call that their own model wrote. The group is what the model wrote, where they repeat it. */
const wordings = [
  // Ollama: its parsers of harmony and of other formats.
  /\berror parsing tool call: raw='(?<written>[\s\S]*)', err=/u,
  /\berror parsing tool call\b/u,
  /\bXML syntax error on line \d+:/u,
  /\bfailed to parse JSON: (?:unexpected end|invalid character)/u,
  /\bexpected element type <\w+> but have </u,
  // llama.cpp, since it has a parser for each template. What follows the position is the text from there on.
  /\bFailed to parse input at pos \d+:(?<written>[\s\S]*)$/u,
  /\bThe model produced output that does not match the expected\b/u,
  /\bInvalid diff: /u,
  // The parser of harmony in vLLM and others.
  /\bunexpected tokens remaining in message header\b/u,
  /\bUnexpected token \d+ while expecting start token\b/u,
  // LM Studio.
  /\bFailed to (?:parse|generate a) tool call:[\s\S]*?\bModel Output:(?<written>[\s\S]*)$/iu,
  /\bFailed to (?:parse|generate a) tool call:/iu,
  // SGLang.
  /\bFailed to parse fc related info to json format\b/u,
  // Groq, where it does not say so by its code.
  /\bFailed to call a function\. Please adjust your prompt\b/u,
  /\btool call validation failed\b/iu,
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
  for (const wording of wordings) {
    const found = wording.exec(message ?? '');
    if (found === null) continue;
    const written = typeof generation === 'string' ? generation : found.groups?.['written']?.trim();
    return written === undefined || written === '' ? {} : { written };
  }
  return undefined;
}

/** The message of a report that has no other; undefined if it has none. */
export function messageInOwnField(report: JsonObject): string | undefined {
  const message = ownValue(report, ownField);
  return typeof message === 'string' ? `${ownField}: ${message}` : undefined;
}
