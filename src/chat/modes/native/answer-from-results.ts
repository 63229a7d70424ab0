import { warningEvent } from '../../../core/chat/caller-warning.ts';
import type { ModelEvent } from '../../../core/chat/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ModelBackend, ModelRequest } from '../../../core/models/model.ts';
import type { Emit } from '../../../shared/async/emit.ts';
import { withRemedies } from '../../../shared/refusals/with-remedies.ts';
import { withoutFunctions } from '../../tool-choice/caller-functions.ts';
import { inlineToolResults } from '../../messages/inline-tool-results.ts';

interface LateRefusal {
  backend: ModelBackend;
  /** Answers without functions when `backend` refuses functions or tool results after it has made calls. */
  plain: ModelBackend;
  /** Called when the request was answered without functions. */
  onRefusal: (refusal: GatewayError, refused: ModelRequest) => void;
}

/**
 * For backends that accept functions at first and refuse them once the conversation holds tool results, as a proxy in front of several models may.
 * Restarting the run would repeat its calls, so the model answers from their results, which are put into the user's message. For requests after
 * calls (`hasCalled`).
 */
export function answerFromResults({ backend, plain, onRefusal }: LateRefusal): ModelBackend {
  async function answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    const first = { to: backend, request };
    let refusal: GatewayError | undefined;
    try {
      await withRemedies(first, ({ to, request: next }, emitNext: Emit<ModelEvent>) => to.answer(next, emitNext), {
        emit,
        async remedy(error) {
          if (!isRefusal(error)) return undefined;
          refusal = error;
          const message = 'The backend refused functions after the model had already called some, so it answers from their results.';
          await emit([warningEvent({ code: 'tools_unsupported', message })]);
          return { to: plain, request: withInlineResults(request) };
        },
      });
    } catch (error) {
      // With the code `tools_unsupported` the error would restart the run.
      throw isRefusal(error) ? new GatewayError('upstream_rejected', error.message, { cause: error }) : error;
    }
    if (refusal !== undefined) onRefusal(refusal, request);
  }

  return { answer };
}

function isRefusal(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.code === 'tools_unsupported';
}

/** Whether calls may have run already. Checks the round too, because a hook may have added messages after the results. */
export function hasCalled({ messages, purpose }: ModelRequest): boolean {
  return messages.at(-1)?.role === 'tool' || purpose?.type === 'last_answer' || (purpose?.round ?? 1) > 1;
}

function withInlineResults(request: ModelRequest): ModelRequest {
  return {
    ...withoutFunctions(request),
    messages: inlineToolResults(request.messages),
    purpose: { type: 'answer', reason: 'functions_refused' },
  };
}
