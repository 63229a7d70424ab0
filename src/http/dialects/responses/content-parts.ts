import type { ContentPart, MessageContent } from '../../../core/chat/chat.ts';
import { GatewayError, invalidField } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { textOfFile } from '../../../shared/text/file-text.ts';
import { isTextType, readImage } from '../requests/image-part.ts';
import { placeholderFor, type UnknownParts } from '../requests/unknown-parts.ts';

/** The location of parts in the request. */
export interface PartsLocation {
  path: string;
  /** They are the result of a call. */
  isResult?: boolean;
  /** Takes the parts of unknown types. */
  unknown: UnknownParts;
}

/**
 * Parts of a message or of a call's output, in the gateway's types. A list with only text becomes a text, and an empty list an empty text, because backends refuse lists without
 * parts. @throws GatewayError `invalid_request` for what cannot be read here
 */
export function toContent(content: string | readonly JsonObject[], location: PartsLocation): MessageContent {
  if (typeof content === 'string') return content;
  const parts = content.flatMap((part, index) => toPart(part, { ...location, path: `${location.path}.${index}` }));
  if (parts.length === 0) return '';
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' && typeof only.text === 'string' ? only.text : parts;
}

/** Reads parts of other APIs too, which many clients send by mistake. A part of an unknown type is left out: a history may contain anything. */
function toPart(part: JsonObject, location: PartsLocation): ContentPart[] {
  const { type } = part;
  const { path } = location;
  if (isTextType(type)) return typeof part['text'] === 'string' ? [{ type: 'text', text: part['text'] }] : [];
  const image = readImage(part);
  if (image !== undefined) return [image];
  switch (typeof type === 'string' ? type : '') {
    case 'refusal':
      return typeof part['refusal'] === 'string' ? [{ type: 'text', text: part['refusal'] }] : [];
    case 'input_image':
    case 'image_url':
    case 'image':
      throw cannotLoad(`${path}.${'file_id' in part ? 'file_id' : 'image_url'}`, 'the image as a data: URL in image_url');
    case 'input_file':
      return [{ type: 'text', text: fileText(part, path) }];
    case 'file':
      // That of chat completions.
      return [{ type: 'text', text: fileText(isJsonObject(part['file']) ? part['file'] : part, path) }];
    case 'input_audio':
      return isJsonObject(part['input_audio']) ? [{ type: 'input_audio', input_audio: part['input_audio'] }] : [];
    default:
      location.unknown.note(type, path);
      return location.isResult === true ? [{ type: 'text', text: placeholderFor(type) }] : [];
  }
}

/** The text of a file, after its name. */
function fileText(part: JsonObject, path: string): string {
  const { file_data: data, filename } = part;
  const cure = 'the text of the file in file_data';
  if (typeof data !== 'string') throw cannotLoad(`${path}.${typeof part['file_url'] === 'string' ? 'file_url' : 'file_id'}`, cure);
  const text = textOfFile(data);
  if (text === undefined)
    throw new GatewayError(
      'invalid_request',
      `${path}.file_data: must be base64 of a text. Convert other files, such as PDFs, to text first.`,
      {
        param: `${path}.file_data`,
      },
    );
  const name = typeof filename === 'string' && filename !== '' ? filename.slice(0, 256) : 'document';
  return `File ${JSON.stringify(name)}:\n\n${text}`;
}

function cannotLoad(param: string, cure: string): GatewayError {
  return invalidField(param, `files are neither stored nor loaded here. Send ${cure}.`);
}
