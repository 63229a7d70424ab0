import type { ChatRequest } from 'ollama/browser';

import type { ModelRequest } from '../../core/models/model.ts';
import type { RunEvent } from '../../core/chat/run-event.ts';
import { chooseContextSize, type ContextSize, type ContextSizeRequest } from './choose-context-size.ts';
import type { OllamaModels } from './ollama-models.ts';

/** Ollama unloads an idle model after five minutes, unless a request sets another time; until then a smaller `num_ctx` would reload it. */
const loadedForMs = 5 * 60 * 1000;

/** Sets `num_ctx` in the prepared request if needed; returns a warning if the request still does not fit. */
type ChooseContext = (request: ModelRequest, prepared: ChatRequest) => Promise<RunEvent | undefined>;

/**
 * Chooses the context size for requests to one server. Asks the server only if its default may be too small: for the model's details, and for the
 * context size it is loaded with, because any other value, even a smaller one, makes Ollama reload the model.
 */
export function createContextChooser(models: OllamaModels, maxContext: number, now: () => number): ChooseContext {
  const loaded = new Map<string, { numCtx: number; until: number }>();

  /** The context size that this gateway last loaded the model with, if it is still loaded: a server may keep models loaded for hours. */
  async function lastContext(request: ModelRequest): Promise<number | undefined> {
    const last = loaded.get(request.model);
    if (last === undefined) return undefined;
    if (last.until > now()) return last.numCtx;
    if ((await models.loadedContext(request)) === last.numCtx) return last.numCtx;
    loaded.delete(request.model);
    return undefined;
  }

  async function choose(request: ModelRequest, sizes: ContextSizeRequest): Promise<ContextSize> {
    const guess = chooseContextSize(sizes);
    if (guess.numCtx === undefined && guess.warning === undefined) return guess;
    const facts = await models.learn(request);
    const informed = facts === undefined ? sizes : { ...sizes, modelDefault: facts.defaultContext, contextLength: facts.contextLength };
    const choice = facts === undefined ? guess : chooseContextSize(informed);
    if (choice.numCtx === undefined || choice.numCtx === sizes.loadedWith) return choice;
    // Another client, or the server's own default, may have loaded the model with a sufficient context.
    const inForce = await models.loadedContext(request);
    return inForce === undefined ? choice : chooseContextSize({ ...informed, loadedWith: inForce });
  }

  return async (request, prepared) => {
    const options: Record<string, unknown> = { ...prepared.options };
    const requested = positive(options['num_ctx']);
    const sizes: ContextSizeRequest = {
      messages: request.messages,
      tools: prepared.tools ?? [],
      requested,
      answerTokens: positive(options['num_predict']),
      modelDefault: undefined,
      contextLength: undefined,
      maxContext,
      loadedWith: requested === undefined ? await lastContext(request) : undefined,
    };
    if (requested !== undefined) return chooseContextSize(sizes).warning;
    const { numCtx, warning } = await choose(request, sizes);
    if (numCtx === undefined) return warning;
    loaded.set(request.model, { numCtx, until: now() + loadedForMs });
    prepared.options = { ...prepared.options, num_ctx: numCtx };
    return warning;
  };
}

function positive(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined;
}
