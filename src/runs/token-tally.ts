import type { ChatEvent, Usage } from '../core/chat/chat.ts';
import type { SpentTokens } from '../core/runs/metrics.ts';
import type { AnswerFault, AnswerLog, ModelRequestLog, SentPrompt } from '../core/models/model-request-log.ts';
import type { TraceHeaders } from '../core/outbound.ts';
import { estimateTokens } from '../shared/text/estimate-tokens.ts';
import { addUsage } from '../core/chat/usage.ts';

/** Characters per token of ASCII text. Other text has fewer, and each chunk of a stream counts as at least one token. */
const charactersPerToken = 3.5;

/**
 * Counts the tokens that the models of a run or call use, request by request, because daily token limits also apply to answers that nobody reads to
 * their end. Backends report usage at the end of an answer. If the client leaves first, or the backend never reports usage, tokens are estimated.
 */
export class TokenTally {
  readonly #named: Tokens = { usage: undefined, estimated: undefined };
  /** By the public ids of models that answered in place of the one that was named. */
  #fallbacks: Map<string, Tokens & { requests: number }> | undefined;

  /** As the backends count, of all models. */
  get reported(): Usage | undefined {
    let all = this.#named.usage;
    for (const { usage } of this.#fallbacks?.values() ?? []) if (usage !== undefined) all = addUsage(all, usage);
    return all;
  }

  get spent(): SpentTokens {
    if (this.#fallbacks === undefined) return { ...this.#named };
    return { ...this.#named, fallbacks: Array.from(this.#fallbacks, ([model, tokens]) => ({ model, ...tokens })) };
  }

  /** Wraps the log of model requests. */
  counting(log?: ModelRequestLog): ModelRequestLog {
    return { begin: (data, sent, provider) => new CountedAnswer(this.#tokensOf(sent), sent, log?.begin(data, sent, provider)) };
  }

  #tokensOf({ fallback }: SentPrompt): Tokens {
    if (fallback === undefined) return this.#named;
    this.#fallbacks ??= new Map();
    const tokens = this.#fallbacks.get(fallback) ?? { usage: undefined, estimated: undefined, requests: 0 };
    this.#fallbacks.set(fallback, tokens);
    tokens.requests += 1;
    return tokens;
  }
}

type Tokens = Pick<SpentTokens, 'usage' | 'estimated'>;

class CountedAnswer implements AnswerLog {
  readonly #tokens: Tokens;
  readonly #sent: SentPrompt;
  readonly #log: AnswerLog | undefined;
  #isReported = false;
  #pieces = 0;
  #characters = 0;

  constructor(tokens: Tokens, sent: SentPrompt, log: AnswerLog | undefined) {
    this.#tokens = tokens;
    this.#sent = sent;
    this.#log = log;
  }

  get trace(): TraceHeaders | undefined {
    return this.#log?.trace;
  }

  note(event: ChatEvent): void {
    this.#log?.note(event);
    if (event.type === 'text' || event.type === 'reasoning') this.#count(event.text.length);
    else if (event.type === 'tool-call') this.#count(event.call.name.length + event.call.arguments.length);
    else if (event.type === 'usage') {
      this.#isReported = true;
      this.#tokens.usage = addUsage(this.#tokens.usage, event.usage);
    }
  }

  end(how?: AnswerFault | 'stopped'): void {
    this.#log?.end(how);
    // If a request produced nothing, it is unknown whether a model has read it.
    if (this.#isReported || this.#pieces === 0) return;
    const { messages, tools, callerTools } = this.#sent;
    const read = estimateTokens({ messages, tools: [...tools, ...callerTools] });
    const written = Math.max(this.#pieces, Math.ceil(this.#characters / charactersPerToken));
    const { prompt, completion } = this.#tokens.estimated ?? { prompt: 0, completion: 0 };
    this.#tokens.estimated = { prompt: prompt + read, completion: completion + written };
  }

  #count(characters: number): void {
    this.#pieces += 1;
    this.#characters += characters;
  }
}
