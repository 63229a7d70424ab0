import type { AnswerOf } from '../../../api/api-types.ts';

type Tool = AnswerOf<'GET /api/tools'>['data'][number];
type Parameters = Readonly<Record<string, unknown>>;

export const maxSuggestions = 3;
const lastQuestion = 'What can you do for me?';

/** What a description begins with if its function changes nothing, and how a person asks for that. */
const readingVerbs: Readonly<Record<string, string>> = {
  check: 'Check',
  count: 'Count',
  describe: 'Describe',
  fetch: 'Show',
  find: 'Find',
  get: 'Show',
  give: 'Show',
  list: 'List',
  read: 'Read',
  retrieve: 'Show',
  return: 'Show',
  show: 'Show',
};
/** A longer sentence explains more than a question needs. */
const maxCharacters = 70;

/** Questions that the tools answer, at least one of each server before a second one. Without tools only the one about what there is. */
export function suggestQuestions(tools: readonly Tool[]): string[] {
  const servers = [...Map.groupBy(tools, ({ server }) => server).values()].map((ofServer) => questionsOf(ofServer));
  // A server that the gateway brings is the least interesting one.
  const sorted = servers.toSorted((one, other) => Number(one.isClock) - Number(other.isClock)).map(({ questions }) => questions);
  const longest = Math.max(0, ...sorted.map(({ length }) => length));
  const found = Array.from({ length: longest }, (_, turn) => sorted.flatMap((questions) => questions[turn] ?? [])).flat();
  return [...new Set(found)].slice(0, maxSuggestions - 1).concat(lastQuestion);
}

function questionsOf(tools: readonly Tool[]): { questions: string[]; isClock: boolean } {
  const ofClock = tools.flatMap((tool) => clockQuestion(tool) ?? []);
  if (ofClock.length > 0) return { questions: ofClock, isClock: true };
  return { questions: tools.flatMap((tool) => questionOf(tool) ?? []), isClock: false };
}

/** A clock answers these however it calls its functions. */
function clockQuestion({ name, description, parameters }: Tool): string | undefined {
  const properties = Object.keys(isObject(parameters['properties']) ? parameters['properties'] : {});
  const needed = requiredOf(parameters);
  const words = `${name} ${description}`.toLowerCase();
  if (needed.length === 0 && properties.some((property) => /^(?:time_?zone|tz)$/i.test(property)) && /current.*time/.test(words))
    return 'What time is it in Osaka?';
  if (needed.join() === 'start,end' && /elapsed/.test(words)) return 'How many hours from yesterday at noon until now?';
  return undefined;
}

/** A function that reads and needs nothing is asked for in the words of its own description. */
function questionOf({ description, parameters, kind }: Tool): string | undefined {
  if (kind === 'preset' || requiredOf(parameters).length > 0) return undefined;
  const [sentence = ''] = description.trim().split(/[.\n](?:\s|$)/, 1);
  const [first = '', ...rest] = sentence.trim().split(' ');
  const verb = [first, first.replace(/s$/, ''), first.replace(/es$/, '')].map((word) => readingVerbs[word.toLowerCase()]).find(Boolean);
  // Descriptions come from others: only plain words become a button.
  if (verb === undefined || rest.length === 0 || sentence.length > maxCharacters || !/^[\p{L}\p{N} ,'’()-]+$/u.test(sentence))
    return undefined;
  return [verb, ...rest].join(' ');
}

function requiredOf({ required }: Parameters): unknown[] {
  return Array.isArray(required) ? required : [];
}

function isObject(value: unknown): value is Parameters {
  return typeof value === 'object' && value !== null;
}
