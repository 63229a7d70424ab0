import { z } from 'zod';
import type { ContentPart, MessageContent } from '../../../core/chat/chat.ts';
import { invalidField } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { isTextType, readImage } from '../requests/image-part.ts';
import { parseFields } from '../requests/parse-fields.ts';
import { placeholderFor, type UnknownParts } from '../requests/unknown-parts.ts';
import type { Block } from './messages-body-schema.ts';

const textBlock = z.looseObject({ text: z.string() });
const imageBlock = z.looseObject({
  source: z.discriminatedUnion(
    'type',
    [
      z.looseObject({ type: z.literal('base64'), media_type: z.string().max(256), data: z.string() }),
      z.looseObject({ type: z.literal('url'), url: z.string() }),
      z.looseObject({ type: z.literal('file') }),
    ],
    'must be an object whose type is base64 or url',
  ),
});
const blocks = z.array(z.looseObject({ type: z.string().max(256) })).max(10_000);
const documentBlock = z.looseObject({
  title: z.string().nullish(),
  context: z.string().nullish(),
  source: z.discriminatedUnion(
    'type',
    [
      z.looseObject({ type: z.literal('text'), data: z.string() }),
      z.looseObject({ type: z.literal('content'), content: z.union([z.string(), blocks], 'must be text or a list of blocks') }),
      z.looseObject({ type: z.enum(['base64', 'url', 'file']) }),
    ],
    'must be an object whose type is text or content',
  ),
});
const toolReference = z.looseObject({ tool_name: z.string().max(256) });
const searchResult = z.looseObject({ title: z.string().nullish(), source: z.string().nullish(), content: blocks });

/** Where the content is in the request. `isNew`: the model has to answer it, so no file in it may be left out. */
export interface ContentLocation {
  path: string;
  isNew: boolean;
  /** It is the result of a call. */
  isResult?: boolean;
  /** Takes the blocks of unknown types. */
  unknown: UnknownParts;
}

/**
 * Text and images as parts of a message, also in the forms of OpenAI. Blocks of unknown types are left out. Schemas check only what is rare: each check takes
 * microseconds, and blocks come by the ten thousand.
 * @throws GatewayError `invalid_request`
 */
export function toParts(content: string | readonly Block[], location: ContentLocation): ContentPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return content.flatMap((block, index) => partsOfBlock(block, { ...location, path: `${location.path}.${index}` }));
}

/** None for a block of an unknown type. @throws GatewayError `invalid_request` */
export function partsOfBlock(block: Block, location: ContentLocation): ContentPart[] {
  if (isTextType(block.type))
    return textPart(typeof block['text'] === 'string' ? block['text'] : parseFields(textBlock, block, location.path).text);
  const image = readImage(block as JsonObject);
  if (image !== undefined) return [image];
  switch (block.type) {
    case 'image': {
      parseFields(imageBlock, block, location.path);
      // Those with a URL or data were read above.
      return leftOut('an image in a stored file', 'Send the image itself as base64 or its URL', location);
    }
    case 'document':
      return documentParts(parseFields(documentBlock, block, location.path), location);
    case 'search_result': {
      const { title, source, content } = parseFields(searchResult, block, location.path);
      return withHeading([title, source], toParts(content, { ...location, path: `${location.path}.content` }));
    }
    case 'input_audio':
      return isJsonObject(block['input_audio'])
        ? [{ type: 'input_audio', input_audio: block['input_audio'] }]
        : unknownPart(block, location);
    case 'tool_reference':
      return [{ type: 'text', text: `Found the tool ${JSON.stringify(parseFields(toolReference, block, location.path).tool_name)}.` }];
    default:
      return unknownPart(block, location);
  }
}

function unknownPart({ type }: Block, { path, isResult = false, unknown }: ContentLocation): ContentPart[] {
  unknown.note(type, path);
  return isResult ? [{ type: 'text', text: placeholderFor(type) }] : [];
}

function documentParts({ source, title, context }: z.infer<typeof documentBlock>, location: ContentLocation): ContentPart[] {
  const heading = [title, context];
  if (source.type === 'text') return withHeading(heading, textPart(source.data));
  if (source.type === 'content')
    return withHeading(heading, toParts(source.content, { ...location, path: `${location.path}.source.content` }));
  return withHeading(heading, leftOut('a document that is no text', 'Send its text, as a source of the type text', location));
}

/** A part of the history must not make every later request of the chat fail. */
function leftOut(what: string, cure: string, { path, isNew }: ContentLocation): ContentPart[] {
  if (!isNew) return [{ type: 'text', text: `[Here stood ${what}, which this server cannot read.]` }];
  const param = `${path}.source.type`;
  throw invalidField(param, `this server cannot read ${what}. ${cure}.`);
}

function withHeading(words: readonly (string | null | undefined)[], parts: ContentPart[]): ContentPart[] {
  const heading = words.filter((word) => typeof word === 'string' && word !== '').join('\n');
  return heading === '' ? parts : [{ type: 'text', text: heading }, ...parts];
}

/** Backends refuse empty text. */
function textPart(text: string): ContentPart[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

/** One text where there is nothing else, which every backend takes. */
export function toContent(parts: ContentPart[]): MessageContent {
  const texts = parts.flatMap((part) => (part.type === 'text' && typeof part.text === 'string' ? [part.text] : []));
  return texts.length === parts.length ? texts.join('\n\n') : parts;
}
