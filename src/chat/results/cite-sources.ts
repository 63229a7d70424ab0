import type { InlineFile, Source } from '../../core/chat.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';

/** A call that gave a result, as a source in Open WebUI's shape; a failed or silent call supports nothing and gives none. */
export function sourceOf({ tool, args = {}, isReady, outcome, text, followUp }: ToolCallResult): Source | undefined {
  if (!isReady || outcome.type !== 'result' || ['no-reply', 'handoff'].includes(followUp?.type ?? '')) return undefined;
  const name = `TOOL:${tool?.label}`;
  return { source: { name }, document: [text], metadata: [{ source: name, parameters: args }], tool_result: true };
}

/** An inline file: a source that is no tool's result. */
export function sourceOfFile(file: InlineFile): Source {
  return { source: { name: file.name }, document: [file.content], metadata: [{ source: file.name }] };
}
