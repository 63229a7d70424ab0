import { textOf, type AssistantMessage, type ChatMessage, type MessageContent } from '../../../core/chat/chat.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import { appendTo, ownText, saidMeanwhile } from '../../messages/inline-tool-results.ts';

/** The system prompt of a ReAct run. The demo model recognises the mode by the first line. */
function instructions(specs: readonly ToolSpec[]): string {
  const flat = specs.map(({ name, description, parameters }) => ({ name, description, parameters }));
  return `Available Functions: ${JSON.stringify(flat)}

Answer in steps. Put every label at the start of a line. When a step needs a function, write exactly this, then stop:

Thought: what is known, and what is missing
Action: the name of one function, as it is listed
Action Input: its arguments, as one JSON object

The result is given to you as an Observation. Never write an observation yourself. Take as many steps as you need, one function in each.
As soon as you know the answer, or when no function can help, end with this form:

Thought: why this is the answer
Final Answer: the whole answer for the user`;
}

const finalAnswerRequest = 'No further function can be called. Give the whole answer now, after the label "Final Answer:".';

/**
 * The conversation in ReAct form: functions in the system message, earlier calls as labelled steps, tool results as observations.
 * @param steps the model's own text for each call, by call id; a step that is missing is generated from the call.
 */
export function reactMessages(
  messages: readonly ChatMessage[],
  specs: readonly ToolSpec[],
  steps: ReadonlyMap<string, string>,
): ChatMessage[] {
  const rewritten: ChatMessage[] = [];
  for (const message of messages) {
    if (message.role === 'tool') addObservation(rewritten, textOf(message.content));
    else if (message.role === 'assistant' && message.toolCalls.length > 0) {
      rewritten.push({ role: 'assistant', content: stepOf(message, steps), toolCalls: [] });
      if (message.said !== undefined) addToLast(rewritten, saidMeanwhile(message.said));
    } else rewritten.push(message);
  }
  if (specs.length > 0) return withSystem(rewritten, instructions(specs));
  addToLast(rewritten, finalAnswerRequest);
  return rewritten;
}

function stepOf(message: AssistantMessage, steps: ReadonlyMap<string, string>): string {
  const { toolCalls } = message;
  const known = toolCalls.flatMap((call) => steps.get(call.id) ?? []);
  if (known.length === toolCalls.length) return known.join('\n');
  const text = ownText(message);
  const written = toolCalls.map((call) => `Action: ${call.name}\nAction Input: ${call.arguments}`);
  return [...(text === '' ? [] : [`Thought: ${text}`]), ...written].join('\n');
}

/** Consecutive results share a message, because many chat templates reject two user messages in a row. */
function addObservation(rewritten: ChatMessage[], text: string): void {
  addToLast(rewritten, `Observation: ${text}`);
}

function addToLast(rewritten: ChatMessage[], text: string): void {
  const last = rewritten.at(-1);
  if (last?.role === 'user') rewritten[rewritten.length - 1] = { ...last, content: appendTo(last.content, `\n\n${text}`) };
  else rewritten.push({ role: 'user', content: text });
}

function withSystem(messages: readonly ChatMessage[], text: string): ChatMessage[] {
  const [first, ...rest] = messages;
  if (first?.role !== 'system' && first?.role !== 'developer') return [{ role: 'system', content: text }, ...messages];
  const content: MessageContent = appendTo(first.content, `\n\n${text}`);
  return [{ ...first, content }, ...rest];
}
