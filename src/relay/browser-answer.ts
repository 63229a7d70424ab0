import type { JsonObject, JsonValue } from '../shared/json.ts';
import { isJsonObject, ownValue } from '../shared/json.ts';
import type { ToolOutcome } from '../core/tool.ts';

/** The answer of a browser to `execute:tool`, as it came. */
export interface BrowserAnswer {
  id: string;
  result?: JsonValue;
  error?: unknown;
}

/**
 * An answer without `error` is a result. One with neither (a frontend's `undefined` leaves no trace in JSON) says nothing of how the call
 * ended, so it is none: an empty response is `null`. The pair `[data, headers]` with which
 * some frontends answer stays as it is: it cannot be told from an array of two that a tool gave.
 */
export function toOutcome({ result, error }: BrowserAnswer): ToolOutcome {
  if (error === undefined || error === null || error === false) {
    if (result !== undefined) return { type: 'result', value: result };
    return { type: 'error', code: 'tool_error', message: neither };
  }
  if (!isJsonObject(error)) return { type: 'error', code: 'tool_error', message: textOfError(error) };
  const key = ['message', 'error', 'detail'].find((name) => typeof ownValue(error, name) === 'string');
  if (key === undefined) return { type: 'error', code: 'tool_error', message: JSON.stringify(error) };
  const { [key]: message, ...detail } = error;
  const extra = Object.keys(detail).length === 0 ? {} : { detail: detail satisfies JsonObject };
  return { type: 'error', code: 'tool_error', message: textOfError(message), ...extra };
}

const neither = 'The browser answered with neither a result nor an error; whether the call took effect is unknown.';

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

/** The request may have left the browser before it went: nobody can tell. */
export function disconnected(name: string): ToolOutcome {
  return {
    type: 'error',
    code: 'client_disconnected',
    message: `The browser disconnected while it ran '${name}'; whether the call took effect is unknown.`,
  };
}
