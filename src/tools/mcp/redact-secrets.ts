import type { ToolServerRecord } from '../../core/registry.ts';
import type { ToolOutcome } from '../../core/tool.ts';
import { maskOfCredentials, maskOfEverythingSent } from '../servers/credentials-of.ts';

/** Messages reach the model and the caller; nothing that was sent may, whatever the server said. */
export function redactSecrets(text: string, record: ToolServerRecord): string {
  return maskOfEverythingSent(record).text(text);
}

/** A server may give back what it was sent. In a result only credentials are taken out: an id of the run may be meant to stand there. */
export function redactOutcome(outcome: ToolOutcome, record: ToolServerRecord): ToolOutcome {
  if (outcome.type === 'error') return { ...outcome, message: redactSecrets(outcome.message, record) };
  const mask = maskOfCredentials(record);
  if (mask.isEmpty) return outcome;
  const { value, files, documents } = outcome;
  const uriOf = ({ uri }: { uri?: string }): { uri?: string } => (uri === undefined ? {} : { uri: mask.text(uri) });
  return {
    ...outcome,
    value: mask.value(value),
    ...(files && {
      files: files.map((file) => ({
        ...file,
        url: mask.dataUrl(file.url),
        ...(file.name !== undefined && { name: mask.text(file.name) }),
        ...uriOf(file),
      })),
    }),
    ...(documents && { documents: documents.map((document) => ({ ...document, text: mask.text(document.text), ...uriOf(document) })) }),
  };
}
