import type {
  ResponseFunctionCallOutputItem,
  ResponseInputContent,
  ResponseInputFileContent,
  ResponseInputImage,
  ResponseInputItem,
} from 'openai/resources/responses/responses';
import { textOf, type ChatMessage, type ContentPart, type MessageContent } from '../../core/chat/chat.ts';
import { isJsonObject, ownValue, textIn, type JsonObject } from '../../shared/json/json.ts';
import { toTurnItems } from './turn-items.ts';

interface Input {
  /** The system messages at the beginning; undefined if there are none. */
  instructions: string | undefined;
  input: ResponseInputItem[];
}

/** Leading system messages become the instructions; later ones stay in their place. */
export function toInput(messages: readonly ChatMessage[]): Input {
  const start = messages.findIndex((message) => !isSystemText(message));
  // The API requires at least one item, so a conversation of system messages only is sent as input.
  const end = start === -1 ? 0 : start;
  const prompts = messages.slice(0, end).map(({ content }) => textOf(content));
  return {
    instructions: prompts.length === 0 ? undefined : prompts.join('\n\n'),
    input: messages.slice(end).flatMap(toItems),
  };
}

function isSystemText({ role, content }: ChatMessage): boolean {
  return (role === 'system' || role === 'developer') && (typeof content === 'string' || content.every(({ type }) => type === 'text'));
}

function toItems(message: ChatMessage): ResponseInputItem[] {
  switch (message.role) {
    case 'system':
    case 'developer':
    case 'user':
      return [{ type: 'message', role: message.role, content: toContent(message.content) }];
    case 'assistant':
      return toTurnItems(message);
    case 'tool':
      return [{ type: 'function_call_output', call_id: message.toolCallId, output: toOutput(message.content) }];
  }
}

function toContent(content: MessageContent): string | ResponseInputContent[] {
  return typeof content === 'string' ? content : content.map(toPart);
}

/** Unlike in chat completions, the result of a call may contain images and files. */
function toOutput(content: MessageContent): string | ResponseFunctionCallOutputItem[] {
  if (typeof content === 'string') return content;
  return content.every(({ type }) => type === 'text') ? textOf(content) : content.map(toPart);
}

/** Converts the part types of chat completions; other parts are sent unchanged. */
function toPart(part: ContentPart): ResponseInputContent {
  const { type } = part;
  if (type === 'text') return { type: 'input_text', text: textIn(part['text']), ...cacheMark(part) };
  if (type === 'image_url') return toImage(part);
  const file = type === 'file' ? part['file'] : undefined;
  if (isJsonObject(file))
    return { type: 'input_file', ...(pick(file, ['file_data', 'filename', 'file_id']) as FileFields), ...cacheMark(part) };
  return part as ResponseInputContent;
}

type FileFields = Pick<ResponseInputFileContent, 'file_id'> & { file_data?: string; filename?: string };

function toImage(part: ContentPart): ResponseInputImage {
  const image = ownValue(part, 'image_url');
  const detail = isJsonObject(image) ? image['detail'] : undefined;
  return {
    type: 'input_image',
    image_url: textIn(isJsonObject(image) ? image['url'] : image),
    detail: (typeof detail === 'string' ? detail : 'auto') as ResponseInputImage['detail'],
    ...cacheMark(part),
  };
}

/** OpenAI's own cache mark. Those of other providers (`cache_control`) are dropped, because the API refuses them. */
function cacheMark(part: JsonObject): { prompt_cache_breakpoint?: { mode: 'explicit' } } {
  const mark = part['prompt_cache_breakpoint'];
  return isJsonObject(mark) ? { prompt_cache_breakpoint: { mode: 'explicit', ...mark } } : {};
}

function pick(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.flatMap((key) => (typeof object[key] === 'string' ? [[key, object[key]]] : [])));
}
