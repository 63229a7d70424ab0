import type { GatewayError } from '../../core/errors.ts';

/** The server refused the request itself. Chat templates that refuse messages fail with an internal error in some servers. */
export function refusesRequest({ code, status }: GatewayError): boolean {
  return code === 'upstream_error' || (code === 'upstream_rejected' && (status === 400 || status === 422));
}

export function wordsOf({ param, message }: GatewayError): string {
  return `${param ?? ''} ${message}`;
}

/** The words that one of the expressions finds. */
export function findWords(refusal: GatewayError, wordings: readonly RegExp[]): string | undefined {
  const words = wordsOf(refusal);
  for (const wording of wordings) {
    const found = wording.exec(words);
    if (found !== null) return found[0];
  }
  return undefined;
}

/**
 * What a model wrote is quoted, or called wrong. It depends on the prompt and on chance, and says nothing about the request: Groq, Ollama, llama.cpp and
 * vLLM answer so when they cannot read their own model's call, or when its output leaves the grammar.
 */
const aboutOutput =
  /failed[_ ]generation|tool_use_failed|\braw ?[=:]|\bgenerated\b|(?<!parser )\bgeneration\b|(?<!request )\barguments?\b|\b(?:tool|function)[- ]calls?\b|\btool_calls\b|\b(?:do|does|did)(?: not|n't) (?:match|conform|satisfy|comply)|failed to (?:parse|validate|generate) (?:input|output|response|message|json\b(?! ?schema))|failed to call a function|\bmodel(?:'s)? (?:output|response|answer|wrote)\b|unexpected end of (?:json )?input|unterminated|\bgrammar stack\b|\baccept(?:ing|ed)? (?:piece|token)|\badvance (?:the )?fsm\b/i;

export function isAboutOutput(text: string): boolean {
  return aboutOutput.test(text);
}

/** Words after which a server repeats what its model has written: vLLM and others, where that does not have the form which was demanded. */
const leadsToOutput =
  /failed[_ ]generation|\braw ?[=:]|\binput_value ?[=:]|\blast read:|\bgenerated\b|\bfailed to parse\b|\bmodel(?:'s)? (?:output|response|answer|wrote)\b/i;

/** Whether these words of a refusal may be what the model wrote, which its caller can have it write. */
export function mayBeOutput(refusal: string, words: string): boolean {
  return leadsToOutput.test(refusal.slice(0, Math.max(0, refusal.indexOf(words))));
}

/** A server that cannot make a grammar of a schema. Nothing quoted stands between these words. */
export const aboutMakingGrammar =
  /\b(?:pars(?:e|ing)|initializ(?:e|ing)|compil(?:e|ing)|build(?:ing)?|convert(?:ing)?|load(?:ing)?|invalid|unsupported)\b[^.:'"`]{0,30}\b(?:grammar|json[ _]?schema)\b|\bjson[ _]?schema\b[^.:'"`]{0,30}\b(?:not supported|unsupported|invalid|conversion)\b|\b(?:grammar|json[ _]?schema) (?:is )?(?:invalid|not supported)|\bgrammar (?:compilation|conversion)\b|\binvalid[_ ](?:tool )?function[_ ]parameters\b|\btools? with (?:mixed values for )?['"`]?strict\b|\btools?\b[^'"`]{0,60}\bunmarshal|unmarshal[^'"`]{0,80}\btools?\b/i;
