import { GatewayError } from '../../../core/errors.ts';
import type { ModelBackend, ModelRequest } from '../../../core/model.ts';
import { hostedTools } from '../../tool-choice/caller-functions.ts';
import { inlineToolResults } from '../../results/inline-tool-results.ts';

export interface LateRefusal {
  backend: ModelBackend;
  /** Asked in place of a backend that refuses functions, or results, after it has called some. */
  plain: ModelBackend;
  onRefusal: (refusal: GatewayError) => void;
}

/**
 * A backend that takes functions for a question and refuses them behind their results (a proxy in front of several models does). To begin again
 * would call them again, so that the model answers from what they gave, which then stands with the question.
 */
export function answerFromResults({ backend, plain, onRefusal }: LateRefusal): ModelBackend {
  return {
    async *chat(request) {
      let hasBegun = false;
      try {
        for await (const event of backend.chat(request)) {
          // Our own remarks are no part of an answer.
          hasBegun ||= event.type !== 'run-event';
          yield event;
        }
        return;
      } catch (error) {
        const isRefusal = error instanceof GatewayError && error.code === 'tools_unsupported';
        if (!isRefusal || !hasCalled(request)) throw error;
        // Whoever meets a refusal of tools begins the run again.
        if (hasBegun) throw new GatewayError('upstream_rejected', error.message, { cause: error });
        onRefusal(error);
      }
      const message = 'The backend refused functions after it had called some; the answer is given from their results.';
      yield { type: 'run-event', event: { type: 'warning', data: { code: 'tools_unsupported', message } } };
      yield* plain.chat(withoutFunctions(request));
    },
  };
}

/** By the number of its round too: a hook may have put other messages behind the results. */
function hasCalled({ messages, asking }: ModelRequest): boolean {
  return messages.at(-1)?.role === 'tool' || asking?.purpose === 'last_answer' || (asking?.round ?? 1) > 1;
}

function withoutFunctions(request: ModelRequest): ModelRequest {
  return {
    ...request,
    messages: inlineToolResults(request.messages),
    tools: [],
    callerTools: hostedTools(request.callerTools),
    toolChoice: undefined,
    parallelToolCalls: undefined,
    asking: { purpose: 'answer', reason: 'functions_refused' },
  };
}
