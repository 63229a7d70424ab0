import type { ChatMessage } from '../../core/chat/chat.ts';
import type { FoundModel, ModelRecord, ModelRequest } from '../../core/models/model.ts';
import { isJsonObject, type JsonValue } from '../../shared/json/json.ts';
import { demandedForm } from '../modes/demanded-form.ts';

/** Whether a model has what a request needs. A model whose backend says nothing of its abilities is taken to have them. */
export function meetsNeeds({ record, nativeTools }: FoundModel, request: ModelRequest): boolean {
  const needsTools = request.tools.length + request.callerTools.length > 0;
  if (needsTools && nativeTools === 'no') return false;
  if (hasImage(request.messages) && !maySeeImages(record)) return false;
  return demandedForm(request.parameters) === undefined || mayFollowForm(record);
}

const visionWords: ReadonlySet<string> = new Set(['vision', 'multimodal']);
const formWords: ReadonlySet<string> = new Set(['response_format', 'structured_outputs']);

function maySeeImages({ capabilities, details: { architecture, supported_parameters: parameters } }: ModelRecord): boolean {
  const modalities = isJsonObject(architecture) ? architecture['input_modalities'] : undefined;
  if (Array.isArray(modalities)) return modalities.includes('image');
  // OpenRouter's list of parameters, from which its capabilities are derived, says nothing about images.
  return capabilities === undefined || Array.isArray(parameters) || hasWord(capabilities, visionWords);
}

/** Only OpenRouter says it. */
function mayFollowForm({ details: { supported_parameters: parameters } }: ModelRecord): boolean {
  return !Array.isArray(parameters) || hasWord(parameters, formWords);
}

function hasWord(values: readonly JsonValue[], words: ReadonlySet<string>): boolean {
  return values.some((value) => typeof value === 'string' && words.has(value));
}

/** Whether the newest message of the user, or a result after it, has an image. Earlier ones have been seen by whoever answered. */
function hasImage(messages: readonly ChatMessage[]): boolean {
  const newest = messages.findLastIndex(({ role }) => role === 'user');
  return messages
    .slice(Math.max(newest, 0))
    .some(({ content }) => Array.isArray(content) && content.some(({ type }) => type === 'image_url'));
}
