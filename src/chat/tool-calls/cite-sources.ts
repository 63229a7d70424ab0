import type { InlineFile, Source } from '../../core/chat/chat.ts';
import type { ToolCallResult } from './tool-call-result.ts';

/** The result of a call as a source in Open WebUI's format; undefined for failed calls and those without a reply. */
export function sourceOf({ tool, args = {}, isReady, outcome, text, followUp }: ToolCallResult): Source | undefined {
  if (!isReady || outcome.type !== 'result' || ['no-reply', 'handoff'].includes(followUp?.type ?? '')) return undefined;
  const name = `TOOL:${tool?.label}`;
  return { source: { name }, document: [text], metadata: [{ source: name, parameters: args }], tool_result: true };
}

/** An inline file as a source. */
export function sourceOfFile(file: InlineFile): Source {
  return { source: { name: file.name }, document: [file.content], metadata: [{ source: file.name }] };
}
