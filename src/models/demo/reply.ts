import type { ModelRequest } from '../../core/models/model.ts';
import type { ToolSpec } from '../../core/tools/tool.ts';
import { answerQuestion, answerResults } from './answer-text.ts';
import { chooseCalls, chooseNames, type ChosenCall } from './choose-calls.ts';
import { readConversation, toSpec, type Reading } from './read-conversation.ts';

export type Reply = { text: string; calls?: undefined } | { calls: ChosenCall[] };

/** What the demo model says or calls. @param now milliseconds since 1970 */
export function replyTo(request: ModelRequest, now: number): Reply {
  const reading = readConversation(request.messages);
  if (reading.type === 'results') return { text: answerResults(reading.results) };
  if (reading.type === 'selection') return { text: selectionOf(reading, now) };
  if (reading.type === 'steps') return { text: nextStep(reading, now) };
  const specs = offeredTo(request);
  const calls = chooseCalls({ question: reading.question, specs, toolChoice: request.toolChoice, now });
  if (calls.length > 0) return { calls: request.parallelToolCalls === false ? calls.slice(0, 1) : calls };
  return { text: answerQuestion(reading.question, namesOf(specs)) };
}

/** As the selection's prompt asks for it. Where there are many functions, it shows them without parameters: then names are asked for. */
function selectionOf({ specs, question }: Reading & { type: 'selection' }, now: number): string {
  const areNames = specs.length > 0 && specs.every(({ parameters }) => Object.keys(parameters).length === 0);
  const calls = areNames ? chooseNames({ question, specs, now }) : chooseCalls({ question, specs, toolChoice: undefined, now });
  return JSON.stringify({ tool_calls: calls.map(({ name, args }) => ({ name, parameters: args })) });
}

/** In the labelled text of `react`: one action for each call that fits the question, then the answer. */
function nextStep({ specs, question, results }: Reading & { type: 'steps' }, now: number): string {
  const next = chooseCalls({ question, specs, toolChoice: undefined, now })[results.length];
  if (next !== undefined)
    return `Thought: ${next.name} fits the question.\nAction: ${next.name}\nAction Input: ${JSON.stringify(next.args)}\n`;
  if (results.length > 0) return `Thought: The functions have answered.\nFinal Answer: ${answerResults(results)}`;
  return `Thought: No function fits the question.\nFinal Answer: ${answerQuestion(question, namesOf(specs))}`;
}

function namesOf(specs: readonly ToolSpec[]): string[] {
  return specs.map(({ name }) => name);
}

/** The functions of a request, wherever they come from. */
export function offeredTo({ tools, callerTools, toolChoice }: ModelRequest): ToolSpec[] {
  return toolChoice === 'none' ? [] : [...tools, ...callerTools.flatMap((entry) => toSpec(entry) ?? [])];
}
