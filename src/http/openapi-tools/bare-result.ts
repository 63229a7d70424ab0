import { withoutStructure } from '../../core/tools/structured-result.ts';
import type { ToolErrorCode, ToolOutcome } from '../../core/tools/tool.ts';
import type { JsonValue } from '../../shared/json/json.ts';

/**
 * A result without anything around it, always JSON: a text is a JSON string, as in the answers of FastAPI and mcpo. Files are `data:` URIs, in a list after
 * what is said beside them; a single one without a word stands alone. So Open WebUI shows images, and another gateway takes files out of what a
 * model reads. `notices` come first in the same way: before a text, else in a list with the result.
 */
export function bareResult(outcome: Extract<ToolOutcome, { type: 'result' }>, notices: readonly string[] = []): JsonValue {
  const result = withFiles(asDeclared(outcome));
  if (notices.length === 0) return result;
  const notice = `[${notices.join(' ')}]`;
  return typeof result === 'string' && outcome.files === undefined ? `${notice}\n\n${result}` : [notice, result];
}

/** Structure that says something else than the text stands alone where the document has promised its schema. */
function asDeclared(outcome: Extract<ToolOutcome, { type: 'result' }>): Extract<ToolOutcome, { type: 'result' }> {
  const { value, structured } = outcome;
  const isPromised =
    structured?.isDeclared === true && typeof value === 'string' && withoutStructure(value, structured.value) !== undefined;
  return isPromised ? { ...outcome, value: structured.value } : outcome;
}

function withFiles({ value, files = [] }: Extract<ToolOutcome, { type: 'result' }>): JsonValue {
  if (files.length === 0) return value;
  const urls = files.map(({ url }) => url);
  const mentions = files.map(({ mention }) => mention).join('\n');
  if (value !== mentions) return [value, ...urls];
  const [only, ...others] = urls;
  return only !== undefined && others.length === 0 ? only : urls;
}

/** Of what failed otherwise: 502, because behind the gateway something did not work. */
const statuses: Partial<Record<ToolErrorCode, number>> = {
  tool_not_found: 404,
  approval_required: 409,
  credential_required: 409,
  tool_timeout: 504,
};

export function statusOfFailure({ code, isRefused }: Extract<ToolOutcome, { type: 'error' }>): number {
  return code.startsWith('args_') || isRefused === true ? 400 : (statuses[code] ?? 502);
}
