import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../shared/json/json.ts';
import type { ToolOutcome } from '../core/tools/tool.ts';

/** The answer of a browser to `execute:tool`, not validated. */
export interface BrowserAnswer {
  id: string;
  result?: JsonValue;
  error?: unknown;
}

/**
 * An answer without `error` is a result. One with neither is an error, because it does not tell how the call ended (JSON drops a frontend's
 * `undefined`; an empty response is `null`). The pair `[data, headers]` with which some frontends answer stays as it is: it cannot be told from an
 * array of two elements that a tool returned.
 */
export function toOutcome({ result, error }: BrowserAnswer): ToolOutcome {
  if (error === undefined || error === null || error === false) {
    if (result !== undefined) return { type: 'result', value: result };
    return { type: 'error', code: 'tool_error', message: emptyAnswer };
  }
  if (!isJsonObject(error)) return { type: 'error', code: 'tool_error', message: textOfError(error) };
  const key = ['message', 'error', 'detail'].find((name) => typeof ownValue(error, name) === 'string');
  if (key === undefined) return { type: 'error', code: 'tool_error', message: JSON.stringify(error) };
  const { [key]: message, ...detail } = error;
  const extra = Object.keys(detail).length === 0 ? {} : { detail: detail satisfies JsonObject };
  return { type: 'error', code: 'tool_error', message: textOfError(message), ...extra };
}

const emptyAnswer = 'The browser answered with neither a result nor an error; whether the call took effect is unknown.';

function textOfError(error: unknown): string {
  const text = typeof error === 'string' ? error : JSON.stringify(error);
  return text === undefined || text === '' ? 'The browser reported an error without a message.' : text;
}

export function unavailable(name: string): ToolOutcome {
  return {
    type: 'error',
    code: 'client_unavailable',
    message: `'${name}' runs in the browser, and no browser session of this user is connected for it.`,
  };
}

/** The browser may have sent the request before it disconnected, so the effect is unknown. */
export function disconnected(name: string): ToolOutcome {
  return {
    type: 'error',
    code: 'client_disconnected',
    message: `The browser disconnected while it ran '${name}'; whether the call took effect is unknown.`,
  };
}
