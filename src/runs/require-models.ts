import { requireModel } from '../core/callers/require-model.ts';
import type { Caller } from '../core/callers/caller.ts';
import type { ChatRequest } from '../core/chat/chat.ts';
import { isContainer, isJsonObject, type JsonObject, type JsonValue } from '../shared/json/json.ts';

/**
 * Parameters that make routing backends (OpenRouter, LiteLLM) use other models. Includes `model` itself, which `extra_body` overrides behind LiteLLM.
 * Case-insensitive, because servers written in Go ignore the case of field names.
 */
const furtherModels = /^(?:models?|model_list|\w*fallbacks?(?:_dict)?)$/i;

/** Checks every model that a caller names: the request's own, and those named in parameters as fallbacks. @throws GatewayError `forbidden` */
export function requireModels(caller: Caller, { model, parameters }: Pick<ChatRequest, 'model' | 'parameters'>): void {
  requireModel(caller, model);
  requireFurtherModels(caller, parameters);
}

/** @throws GatewayError `forbidden` */
export function requireFurtherModels(caller: Caller, parameters: JsonObject): void {
  if (caller.models === undefined) return;
  for (const [name, value] of Object.entries(parameters)) {
    if (furtherModels.test(name)) for (const id of textsIn(value)) requireModel(caller, id);
    if (name === 'extra_body' && isJsonObject(value)) requireFurtherModels(caller, value);
  }
}

function textsIn(value: JsonValue | undefined): string[] {
  if (typeof value === 'string') return [value];
  if (!isContainer(value)) return [];
  return Object.values(value).flatMap((entry) => textsIn(entry));
}
