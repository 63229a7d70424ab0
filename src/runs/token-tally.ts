import type { ChatEvent, Usage } from '../core/chat/chat.ts';
import type { SpentTokens } from '../core/runs/metrics.ts';
import type { AnswerFault, AnswerLog, ModelRequestLog, SentPrompt } from '../core/models/model-request-log.ts';
import { estimateTokens } from '../shared/text/estimate-tokens.ts';
import { addUsage } from '../core/chat/usage.ts';

/** Characters per token of ASCII text. Other text has fewer, and each chunk of a stream counts as at least one token. */
const charactersPerToken = 3.5;

/**
 * Counts the tokens that the models of a run or call use, request by request, because daily token limits also apply to answers that nobody reads to
 * their end. Backends report usage at the end of an answer. If the client leaves first, or the backend never reports usage, tokens are estimated.
 */
export class TokenTally {
  #reported: Usage | undefined;
  #estimated: SpentTokens['estimated'];

  /** As the backends count. */
  get reported(): Usage | undefined {
    return this.#reported;
  }

  get spent(): SpentTokens {
    return { usage: this.#reported, estimated: this.#estimated };
  }

  /** Wraps the log of model requests. */
  counting(log?: ModelRequestLog): ModelRequestLog {
    return { begin: (data, sent) => new CountedAnswer(this, sent, log?.begin(data, sent)) };
  }

  add(usage: Usage): void {
    this.#reported = addUsage(this.#reported, usage);
  }

  estimate({ messages, tools, callerTools }: SentPrompt, written: number): void {
    const { prompt, completion } = this.#estimated ?? { prompt: 0, completion: 0 };
    const read = estimateTokens({ messages, tools: [...tools, ...callerTools] });
    this.#estimated = { prompt: prompt + read, completion: completion + written };
  }
}

class CountedAnswer implements AnswerLog {
  readonly #tally: TokenTally;
  readonly #sent: SentPrompt;
  readonly #log: AnswerLog | undefined;
  #isReported = false;
  #pieces = 0;
  #characters = 0;

  constructor(tally: TokenTally, sent: SentPrompt, log: AnswerLog | undefined) {
    this.#tally = tally;
    this.#sent = sent;
    this.#log = log;
  }

  note(event: ChatEvent): void {
    this.#log?.note(event);
    if (event.type === 'text' || event.type === 'reasoning') this.#count(event.text.length);
    else if (event.type === 'tool-call') this.#count(event.call.name.length + event.call.arguments.length);
    else if (event.type === 'usage') {
      this.#isReported = true;
      this.#tally.add(event.usage);
    }
  }

  end(how?: AnswerFault | 'stopped'): void {
    this.#log?.end(how);
    // If a request produced nothing, it is unknown whether a model has read it.
    if (this.#isReported || this.#pieces === 0) return;
    this.#tally.estimate(this.#sent, Math.max(this.#pieces, Math.ceil(this.#characters / charactersPerToken)));
  }

  #count(characters: number): void {
    this.#pieces += 1;
    this.#characters += characters;
  }
}
