import type { ContentPart, MessageContent } from '../../../core/chat/chat.ts';
import { GatewayError, invalidField } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { textOfFile } from '../../../shared/text/file-text.ts';

/**
 * Parts of a message or of a call's output, in the gateway's types. A list with only text becomes a text, and an empty list an empty text, because backends refuse lists without
 * parts. @throws GatewayError `invalid_request` for what cannot be read here
 */
export function toContent(content: string | readonly JsonObject[], path: string): MessageContent {
  if (typeof content === 'string') return content;
  const parts = content.flatMap((part, index) => toPart(part, `${path}.${index}`));
  if (parts.length === 0) return '';
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' && typeof only.text === 'string' ? only.text : parts;
}

/** Nothing for a part of a type that is not known: a history may hold anything. */
function toPart(part: JsonObject, path: string): ContentPart[] {
  const { type } = part;
  switch (typeof type === 'string' ? type : '') {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
      return typeof part['text'] === 'string' ? [{ type: 'text', text: part['text'] }] : [];
    case 'refusal':
      return typeof part['refusal'] === 'string' ? [{ type: 'text', text: part['refusal'] }] : [];
    case 'input_image':
      return [imagePart(part, path)];
    case 'input_file':
      return [{ type: 'text', text: fileText(part, path) }];
    case 'input_audio':
      return isJsonObject(part['input_audio']) ? [{ type: 'input_audio', input_audio: part['input_audio'] }] : [];
    default:
      return [];
  }
}

function imagePart(part: JsonObject, path: string): ContentPart {
  const { image_url: url, detail } = part;
  if (typeof url !== 'string')
    throw cannotLoad(`${path}.${'file_id' in part ? 'file_id' : 'image_url'}`, 'the image as a data: URL in image_url');
  return { type: 'image_url', image_url: { url, ...(typeof detail === 'string' && { detail }) } };
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
