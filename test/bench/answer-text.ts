/** What the mock backend is asked for; it travels as the user's message, so that every target has to carry it. */
export interface AnswerPlan {
  /** Stands in the answer, so that an answer which reached the wrong client is seen. */
  name: string;
  chunks: number;
  /** Milliseconds between two chunks; 0: as fast as single writes go. */
  gapMs: number;
}

/** Quotes, line breaks, and characters of two to four bytes: what a careless relay breaks. */
const words = ['The ', 'quick "brown" ', 'fox,\n', 'größer ', 'als ', '日本語 ', '🦊🏽 ', 'jumps\tover ', 'the \\ lazy ', 'dog. '];

/** The chunk at a position; the first one carries the plan's name. */
export function chunkText(plan: AnswerPlan, position: number): string {
  return position === 0 ? `[${plan.name}] ` : (words[position % words.length] ?? '');
}

export function answerText(plan: AnswerPlan): string {
  return Array.from({ length: plan.chunks }, (_, position) => chunkText(plan, position)).join('');
}
