import { visibleText } from '../../shared/text/visible-text.ts';
import type { JsonValue } from '../../shared/json/json.ts';
import { html, type Html } from './html.ts';

/** Rows of a box with arguments. More lines are seen by scrolling. */
const maxRows = 16;

/** A field in which arguments can be edited. `number`: the call's number on the page. */
export function argumentsField(number: number, text: string): Html {
  const lines = countLines(text);
  const rows = Math.min(maxRows, lines + 1);
  return html`<label for="arguments-${number}">Arguments (you can edit them)</label>
    ${foldNote(lines)}
    <textarea id="arguments-${number}" name="arguments" rows="${rows}" spellcheck="false" autocomplete="off">${text}</textarea>`;
}

export function argumentsBox(number: number, text: string, label = 'Arguments'): Html {
  return html`<p id="shown-${number}">${label}</p>
    ${foldNote(countLines(text))}
    <pre role="group" tabindex="0" aria-labelledby="shown-${number}">${text}</pre>`;
}

/** Where a long line wraps in a wide window. A narrow window has more lines, so the page never names too many. */
const widestColumns = 76;

function countLines(text: string): number {
  return text.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / widestColumns)), 0);
}

/** Says how much of a box is only visible after scrolling, because the important part may be there. */
function foldNote(lines: number): Html | false {
  return lines > maxRows && html`<p class="soft">${lines} lines, ${lines - maxRows} of them below the fold. Scroll to read them all.</p>`;
}

/** The arguments as JSON without invisible characters. */
export function formatArguments(args: JsonValue | undefined): string {
  return visibleText(formatValue(args));
}

export function formatValue(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2);
}
