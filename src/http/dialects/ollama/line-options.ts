import type { JsonObject } from '../../../shared/json/json.ts';
import type { CommonBody } from './ollama-body-schema.ts';

interface LineOptions extends JsonObject {
  /** False where the client has asked for no reasoning. */
  showsThinking: boolean;
  /** Present for a request without a question. */
  doneReason?: 'load' | 'unload';
}

/** `isLoading`: there is no prompt, so the request only loads the model, or unloads it with a `keep_alive` of 0. */
export function toLineOptions({ think, keep_alive: keepAlive }: CommonBody, isLoading: boolean): LineOptions {
  const unloads = keepAlive === 0 || (typeof keepAlive === 'string' && /^0+[a-z]*$/u.test(keepAlive));
  return { showsThinking: think !== false, ...(isLoading && { doneReason: unloads ? 'unload' : 'load' }) };
}
