/** Functions that are named in an answer; more would be a list and no help. */
const mostNames = 8;

/** What the demo model says when no function fits: what it is, what it can do, and what to do for more. */
export function answerQuestion(question: string, offered: readonly string[]): string {
  return answerTask(question) ?? introduction(offered);
}

function introduction(offered: readonly string[]): string {
  const more = offered.length > mostNames ? ` and ${offered.length - mostNames} more` : '';
  const unfit = `None of the functions on offer fits this question: ${offered.slice(0, mostNames).join(', ')}${more}.`;
  return [
    "This is toolwharf's demo model: a few rules that choose functions and quote their results, not a language model.",
    ...(offered.length > 0 ? [unfit] : []),
    'With the bundled time tools it answers, for example, "What time is it in Osaka and in Berlin?".',
    'For real answers connect a model: start Ollama, or set OPENAI_API_BASE_URLS and OPENAI_API_KEYS.',
  ].join(' ');
}

/** Words of a title. */
const titleWords = 6;

/** What frontends ask for behind the scenes (a title, tags), as short as they want it. */
function answerTask(question: string): string | undefined {
  const wanted = /"(title|tags|follow_ups|queries)"\s*:/u.exec(question)?.[1];
  const isTitle = wanted === 'title' || /\b(?:generate|create|write)\b.{0,40}\btitle\b/iu.test(question);
  if (!/^(?:### Task:|\s*(?:generate|create|write|suggest)\b)/iu.test(question)) return undefined;
  if (isTitle) {
    const title = titleOf(question);
    return wanted === 'title' ? JSON.stringify({ title }) : title;
  }
  if (wanted === 'tags') return JSON.stringify({ tags: ['General'] });
  return wanted === undefined ? undefined : JSON.stringify({ [wanted]: [] });
}

/** The first words of the first thing that a user said in the quoted chat. */
function titleOf(task: string): string {
  const chat = task.slice(Math.max(0, task.lastIndexOf('<chat_history>')));
  const said = /\bUSER: ?(?:""")?([^\n"]+)/u.exec(chat)?.[1] ?? '';
  const words = said.trim().split(/\s+/u).slice(0, titleWords).join(' ');
  return words === '' ? 'Demo chat' : words.slice(0, 60).replace(/[\s.,;:!?。！？]+$/u, '');
}
