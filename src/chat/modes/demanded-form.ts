import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

/** The output format that the caller demands, in OpenAI's field or Ollama's; undefined: none. `{"type": "text"}` is the default and demands nothing. */
export function demandedForm({ response_format: form, format }: JsonObject): JsonValue | undefined {
  const isPlainText = isJsonObject(form) && form['type'] === 'text';
  return (isPlainText ? undefined : form) ?? format ?? undefined;
}
