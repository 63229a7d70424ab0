/** Where a text stops being JSON, and what is probably wrong there. Lines and columns count from 1. */
export interface JsonFault {
  line: number;
  column: number;
  /** Completes "it …", and quotes nothing of the text. */
  problem: string;
}

/** Characters of a text that are examined: the fault of a longer one is said without its place. */
const maxCharacters = 100_000;

const space = /[ \t\r\n]*/y;
const token =
  /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[[\]{},:]/uy;

/** What may come next. */
type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or ]' | ', or }' | 'end';

/** Undefined if the text is JSON, or too long. Takes linear time. */
export function explainJsonFault(text: string): JsonFault | undefined {
  if (text.length > maxCharacters) return undefined;
  const open: ('[' | '{')[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (;;) {
    at = endOf(space, text, at) ?? at;
    if (at >= text.length)
      return expected === 'end' ? undefined : faultAt(text, at, 'ends too early: a bracket, quote or value is missing');
    const end: number | undefined = endOf(token, text, at);
    const next: Expected | undefined = end === undefined ? undefined : stepTo(text.slice(at, end), expected, open);
    if (next === undefined || end === undefined) return faultAt(text, at, problemAt(text, at, expected));
    expected = next;
    at = end;
  }
}

/** Why a text could not be parsed as JSON, with the place. `error`: what the parser threw, which says so for a text that is too long. */
export function jsonProblem(text: string, error: unknown): string {
  const fault = explainJsonFault(text);
  if (fault === undefined) return error instanceof Error ? error.message : String(error);
  return `at line ${fault.line}, column ${fault.column} it ${fault.problem}`;
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** What is expected after this token; undefined if it must not be here. */
function stepTo(found: string, expected: Expected, open: ('[' | '{')[]): Expected | undefined {
  const afterValue = (): Expected => (open.length === 0 ? 'end' : open.at(-1) === '[' ? ', or ]' : ', or }');
  const isValueExpected = expected === 'value' || expected === 'value or ]';
  switch (found) {
    case '[':
    case '{':
      if (!isValueExpected) return undefined;
      open.push(found);
      return found === '[' ? 'value or ]' : 'key or }';
    case ']':
    case '}':
      if (expected !== `value or ${found}` && expected !== `key or ${found}` && expected !== `, or ${found}`) return undefined;
      open.pop();
      return afterValue();
    case ',':
      if (expected === ', or ]') return 'value';
      return expected === ', or }' ? 'key' : undefined;
    case ':':
      return expected === ':' ? 'value' : undefined;
    default:
      if (isValueExpected) return afterValue();
      return found.startsWith('"') && (expected === 'key' || expected === 'key or }') ? ':' : undefined;
  }
}

function problemAt(text: string, at: number, expected: Expected): string {
  const rest = text.slice(at, at + 12);
  if (at === 0 && rest.startsWith("'"))
    return `begins with a single quote: send the JSON without quotes around it (cmd.exe of Windows needs double quotes around it, and \\" inside)`;
  if (/^['\u2018\u2019]/.test(rest)) return 'has single quotes: write double quotes around names and texts';
  if (/^[\u201c\u201d\u201e]/.test(rest)) return 'has typographic quotes: write straight double quotes (")';
  if (/^(?:None|True|False)\b/.test(rest)) return 'has a constant of Python: write null, true or false';
  if (/^(?:NaN|-?Infinity|undefined)\b/.test(rest)) return 'has a value that JSON does not know: write null, or a number';
  if (/^(?:\/[/*]|#)/.test(rest)) return 'has a comment: leave it out';
  if (rest.startsWith('"')) return expected.startsWith(', or') ? 'lacks a comma' : expected === 'end' ? tooMuch : unfinishedText;
  if (/^[\]}]/.test(rest) && /,[ \t\r\n]*$/.test(text.slice(Math.max(0, at - 100), at)))
    return 'has a comma too many before a closing bracket';
  if ((expected === 'key' || expected === 'key or }') && /^[A-Za-z_$\\]/.test(rest)) return 'has a name without double quotes';
  if (expected === 'end') return tooMuch;
  if (expected === ':') return 'lacks a colon after a name';
  if (expected.startsWith(', or')) return 'lacks a comma, or a closing bracket';
  return 'lacks a value';
}

const tooMuch = 'goes on after its end';
const unfinishedText = 'has a text that does not end, or has a line break or a wrong backslash in it';

function faultAt(text: string, at: number, problem: string): JsonFault {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  return { line, column: at - before.lastIndexOf('\n'), problem };
}
