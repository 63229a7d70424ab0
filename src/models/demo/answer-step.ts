import type { ToolSpec } from '../../core/tool.ts';
import { answerQuestion } from './answer-question.ts';
import { answerResults } from './answer-results.ts';
import { chooseCalls } from './choose-calls.ts';
import type { ToolResultText } from './read-conversation.ts';

/** The next step in labelled text: one action for each call that fits the question, then the answer. */
export function answerStep(
  { specs, question, results }: { specs: readonly ToolSpec[]; question: string; results: readonly ToolResultText[] },
  now: number,
): string {
  const next = chooseCalls({ question, specs, toolChoice: undefined, now })[results.length];
  if (next !== undefined)
    return `Thought: ${next.name} fits the question.\nAction: ${next.name}\nAction Input: ${JSON.stringify(next.args)}\n`;
  if (results.length > 0) return `Thought: The functions have answered.\nFinal Answer: ${answerResults(results)}`;
  const names = specs.map((spec) => spec.name);
  return `Thought: No function fits the question.\nFinal Answer: ${answerQuestion(question, names)}`;
}
