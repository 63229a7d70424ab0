import { textOf, type ChatMessage } from '../../../core/chat/chat.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import { expandTemplate } from '../../messages/expand-template.ts';

/** The prompt that Open WebUI has used since its first tool servers; `TOOLS_FUNCTION_CALLING_PROMPT_TEMPLATE` replaces it. */
export const defaultSelectionTemplate = `Available Tools: {{TOOLS}}

Your task is to choose and return the correct tool(s) from the list of available tools based on the query. Follow these guidelines:

- Return only the JSON object, without any additional text or explanation.

- If no tools match the query, return an empty array:
   {
     "tool_calls": []
   }

- If one or more tools match the query, construct a JSON response containing a "tool_calls" array with objects that include:
   - "name": The tool's name.
   - "parameters": A dictionary of required parameters and their corresponding values.

The format for the JSON response is strictly:
{
  "tool_calls": [
    {"name": "toolName1", "parameters": {"key1": "value1"}},
    {"name": "toolName2", "parameters": {"key2": "value2"}}
  ]
}`;

/** Number of messages before the query that a selection sees. */
const earlierMessages = 3;

/**
 * The two messages of a selection: the template with all function specs, or with names and summaries alone, and the end of the conversation as
 * `Query: History:\n<ROLE>: """…"""\nQuery: <query>`. Undefined when there is no user message to choose for.
 */
export function selectionMessages(
  messages: readonly ChatMessage[],
  specs: readonly ToolSpec[],
  { template, variables = new Map(), areNames = false }: { template: string; variables?: ReadonlyMap<string, string>; areNames?: boolean },
): ChatMessage[] | undefined {
  const queryIndex = messages.findLastIndex((message) => message.role === 'user');
  const query = messages[queryIndex];
  if (query === undefined) return undefined;
  const flat = specs.map(({ name, description, parameters }) =>
    areNames ? { name, description: summaryOf(description) } : { type: 'function', name, description, parameters },
  );
  const history = messages
    .slice(0, queryIndex)
    .flatMap((message) => historyLine(message))
    .slice(-earlierMessages);
  return [
    { role: 'system', content: expandTemplate(template, new Map([...variables, ['TOOLS', JSON.stringify(flat)]])) },
    { role: 'user', content: ['Query: History:', ...history, `Query: ${textOf(query.content)}`].join('\n') },
  ];
}

const summaryCharacters = 200;

/** The first sentence of a description, which tells functions apart; the rest tells how to use them. */
function summaryOf(description: string): string {
  const [paragraph = ''] = description
    .trim()
    .slice(0, 4 * summaryCharacters)
    .split(/\n\s*\n/);
  const line = paragraph.replaceAll(/\s+/g, ' ');
  const sentence = /^.{15,}?[.!?](?= \p{Lu})/u.exec(line)?.[0] ?? line;
  return sentence.length > summaryCharacters ? `${sentence.slice(0, summaryCharacters)}…` : sentence;
}

/** Requests corrected arguments, listing the problems of each call. */
export function repairMessage(faulty: readonly { name: string; problems: readonly string[] }[]): ChatMessage {
  const lines = faulty.map(({ name, problems }) => `- ${name}: ${problems.join('; ')}`);
  const content = [
    'These calls cannot be made, because their arguments are wrong:',
    ...lines,
    'Answer again with one JSON object of the same form that holds these calls with correct arguments, and nothing else.',
  ];
  return { role: 'user', content: content.join('\n') };
}

/**
 * Asks which calls are to be made when words around them or parts of names leave that open, and for corrected arguments where they are wrong. `parts`: names
 * that no function has, and the nearest ones.
 */
export function confirmMessage(
  faulty: readonly { name: string; problems: readonly string[] }[],
  parts: readonly { written: string; nearest: string }[] = [],
): ChatMessage {
  const open = parts.map(({ written, nearest }) => `there is no function '${written.slice(0, 80)}' (the nearest is '${nearest}')`);
  const reason =
    open.length > 0 ? `${open.join(', and ')}.` : 'the text around the JSON object does not make clear whether you want these calls.';
  const lines = faulty.map(({ name, problems }) => `- ${name}: ${problems.join('; ')}`);
  const content = [
    `Nothing was called yet, because ${reason}`,
    ...(lines.length > 0 ? ['The arguments of these calls are wrong:', ...lines] : []),
    'Answer again with one JSON object of the same form and nothing else. List the calls to make now, or an empty array for none:',
    '{"tool_calls": []}',
  ];
  return { role: 'user', content: content.join('\n') };
}

/** Demands a call when `tool_choice` requires one and the selection holds none. */
export function demandMessage(specs: readonly ToolSpec[]): ChatMessage {
  const names = specs.slice(0, 20).map((spec) => spec.name);
  const content = `A call is demanded: answer with one JSON object of the form above that calls ${names.length === 1 ? names.join('') : `one of ${names.join(', ')}`}.`;
  return { role: 'user', content };
}

/** Text parts of user and assistant messages. System messages and tool results are left out. */
function historyLine(message: ChatMessage): string[] {
  if (message.role !== 'user' && message.role !== 'assistant') return [];
  const text = textOf(message.content);
  return text === '' ? [] : [`${message.role.toUpperCase()}: """${text}"""`];
}
