import type { Message, Tool } from 'ollama/browser';

import { argumentsAsObject } from '../../core/tools/call-arguments.ts';
import {
  textOf,
  type AssistantMessage,
  type ChatMessage,
  type ContentPart,
  type MessageContent,
  type ToolMessage,
} from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isJsonObject, ownValue } from '../../shared/json/json.ts';
import type { ModelRequest } from '../../core/models/model.ts';
import { toFunctionEntry } from '../transport/write-body.ts';

/** Ollama's message. The ids link results to calls since version 0.12; older versions ignore them. */
interface OllamaMessage extends Message {
  tool_call_id?: string;
}

/**
 * Converts a conversation to Ollama's messages: text separate from images, arguments as objects, results with the function's name. Reasoning is sent
 * back only with tool calls: models that reason between calls lose track without it.
 * @throws GatewayError `invalid_request` for content that Ollama does not accept, such as an image by URL
 */
export function toOllamaMessages(messages: readonly ChatMessage[]): Message[] {
  const names = new Map<string, string>();
  return messages.map((message, index) => {
    switch (message.role) {
      case 'system':
      case 'developer':
        return { role: 'system', content: textOf(message.content) };
      case 'user':
        return withImages({ role: 'user', content: textOf(message.content) }, message.content, `messages.${index}.content`);
      case 'assistant':
        for (const call of message.toolCalls) names.set(call.id, call.name);
        return assistantMessage(message);
      case 'tool':
        return withImages(toolMessage(message, names), message.content, `messages.${index}.content`);
    }
  });
}

/** The index of the newest user message if it contains an image; otherwise undefined. */
export function findNewImage(messages: readonly ChatMessage[]): number | undefined {
  const index = messages.findLastIndex((message) => message.role === 'user');
  const content = messages[index]?.content;
  return Array.isArray(content) && content.some((part) => part.type === 'image_url') ? index : undefined;
}

/**
 * Refuses a new image for a model without vision: Ollama would drop it, and the model would answer as if it had seen it. Images in earlier messages
 * are allowed, so that a conversation can continue with another model. Servers that report no capabilities are trusted. @throws GatewayError
 * `invalid_request`
 */
export function requireVision(
  { model, messages }: Pick<ModelRequest, 'model' | 'messages'>,
  capabilities: readonly string[] | undefined,
): void {
  const index = capabilities === undefined || capabilities.includes('vision') ? undefined : findNewImage(messages);
  if (index === undefined) return;
  const message = `The model "${model}" cannot see images. Choose a model with the capability "vision", or remove the image.`;
  throw new GatewayError('invalid_request', message, { param: `messages.${index}.content` });
}

function assistantMessage(message: AssistantMessage): OllamaMessage {
  const content = textOf(message.content);
  if (message.toolCalls.length === 0) return { role: 'assistant', content };
  // Ollama answers 400 to arguments that are not an object. The result that follows explains malformed arguments to the model.
  const calls = message.toolCalls.map(({ id, name, arguments: args }) => ({ id, function: { name, arguments: argumentsAsObject(args) } }));
  const thinking = message.extra?.['thinking'];
  return { role: 'assistant', content, ...(typeof thinking === 'string' && { thinking }), tool_calls: calls };
}

function toolMessage(message: ToolMessage, names: ReadonlyMap<string, string>): OllamaMessage {
  const name = message.name ?? names.get(message.toolCallId);
  const content = textOf(message.content);
  return { role: 'tool', content, tool_call_id: message.toolCallId, ...(name === undefined ? {} : { tool_name: name }) };
}

function withImages(message: OllamaMessage, content: MessageContent, path: string): OllamaMessage {
  if (typeof content === 'string') return message;
  const images = content.flatMap((part, index) => (part.type === 'text' ? [] : [imageOf(part, `${path}.${index}`)]));
  return images.length === 0 ? message : { ...message, images };
}

/** `data:image/png;base64,AAAA`, with any number of parameters before `;base64`. */
const dataUri = /^data:[^,]*;base64,/iu;

function imageOf(part: ContentPart, path: string): string {
  const image = part.type === 'image_url' ? ownValue(part, 'image_url') : undefined;
  const url = isJsonObject(image) ? ownValue(image, 'url') : image;
  if (typeof url !== 'string') {
    const message = `Ollama accepts only text and images: remove the content part of type "${part.type.slice(0, 50)}".`;
    throw new GatewayError('invalid_request', message, { param: path });
  }
  const head = dataUri.exec(url)?.[0];
  if (head !== undefined) return url.slice(head.length);
  const message = 'Ollama accepts images only as base64: send the image as a "data:image/...;base64,..." URL instead of a web address.';
  throw new GatewayError('invalid_request', message, { param: path });
}

/**
 * The offered functions, the gateway's first. Ollama has no `tool_choice`: for `none` nothing is offered, for a named function only that one;
 * `required` cannot be enforced. Entries of the caller that are not functions (a provider's hosted tools) are omitted.
 */
export function toOllamaTools(request: Pick<ModelRequest, 'tools' | 'callerTools' | 'toolChoice'>): Tool[] {
  if (request.toolChoice === 'none') return [];
  const callerTools = request.callerTools.filter((entry) => isJsonObject(ownValue(entry, 'function')));
  // Schemas are sent unchanged; Ollama drops keywords that its templates cannot render.
  const offered = request.tools.map(({ name, description, parameters }) => toFunctionEntry({ name, description, parameters }));
  const tools = [...offered, ...callerTools] as unknown as Tool[];
  const wanted = namedChoice(request.toolChoice);
  return wanted === undefined ? tools : tools.filter((tool) => tool.function.name === wanted);
}

function namedChoice(choice: ModelRequest['toolChoice']): string | undefined {
  const named = isJsonObject(choice) ? ownValue(choice, 'function') : undefined;
  const name = isJsonObject(named) ? ownValue(named, 'name') : undefined;
  return typeof name === 'string' ? name : undefined;
}
