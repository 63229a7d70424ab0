import type { ToolSpec } from '../../core/tools/tool.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { enumOf, fillArguments, namedPlaceIn, propertiesOf, splitName, type FilledArguments } from './fill-arguments.ts';
import { readQuestion, wordsOf, type Question } from './read-question.ts';

export interface ChosenCall {
  name: string;
  args: JsonObject;
}

export interface Choice {
  question: string;
  specs: readonly ToolSpec[];
  /** As in a request: `none`, `auto`, `required`, or a named function. */
  toolChoice: JsonValue | undefined;
  /** Milliseconds since 1970, for times of day and "since". */
  now: number;
}

/** One word of the name, or two of the description; or one of these and a value. */
const leastScore = 2;
/** Names of functions that are worth a look at their parameters. */
const maxNames = 10;

/**
 * The function that has the most words and values in common with a question, called once for each place that the question names. Where several
 * sentences hold values for different functions, each of them is a question of its own.
 */
export function chooseCalls(choice: Choice): ChosenCall[] {
  if (choice.toolChoice === 'none') return [];
  const sentences = choice.question.slice(0, splitCharacters).split(/(?<=[.?!。？！])\s+/u);
  const parts = sentences.slice(0, maxSentences).map((question) => chooseFunction({ ...choice, question }));
  const fitting = parts.filter(({ chosen }) => chosen?.isFit === true && chosen.found > 0);
  const different = new Set(fitting.map(({ chosen }) => chosen?.spec.name));
  return (different.size > 1 ? fitting : [chooseFunction(choice)]).flatMap(({ chosen, asked }) =>
    chosen === undefined ? [] : callsFor(chosen, asked),
  );
}

/** Characters of a question that are read sentence by sentence, and sentences that may be questions of their own; more are a text. */
const splitCharacters = 1_000;
const maxSentences = 4;

function chooseFunction({ question, specs, toolChoice, now }: Choice): { chosen: FilledCall | undefined; asked: Question } {
  const named = namedFunction(toolChoice);
  const isForced = toolChoice === 'required' || named !== undefined;
  const asked = readQuestion(question, now);
  const candidates = specs
    .filter((spec) => named === undefined || spec.name === named)
    .map((spec) => rate(spec, asked))
    .toSorted((one, other) => other.score - one.score);
  return { chosen: candidates.find(({ isFit }) => isFit) ?? (isForced ? candidates[0] : undefined), asked };
}

/** For a selection that shows names alone, as long as there are many functions: those whose parameters are worth a look. */
export function chooseNames({ question, specs, now }: Omit<Choice, 'toolChoice'>): ChosenCall[] {
  const asked = readQuestion(question, now);
  const scored = specs
    .map((spec) => ({ name: spec.name, args: {}, score: countWords(spec, asked).score }))
    .filter(({ score }) => score > 0);
  return scored
    .toSorted((one, other) => other.score - one.score)
    .slice(0, maxNames)
    .map(({ name, args }) => ({ name, args }));
}

interface FilledCall extends FilledArguments {
  spec: ToolSpec;
  score: number;
  isFit: boolean;
}

function rate(spec: ToolSpec, question: Question): FilledCall {
  const filled = fillArguments(spec, question);
  const words = countWords(spec, question);
  const isAnswered =
    filled.isComplete && (Object.keys(filled.args).length > 0 || (words.isAboutIt && namedPlaceIn(question.english) === undefined));
  const score = words.score + filled.found * 2;
  return { spec, ...filled, score, isFit: isAnswered && words.score > 0 && score >= leastScore };
}

/** Words of the name count twice. A function without arguments has to be about most of what was asked. */
function countWords(spec: ToolSpec, { english, words }: Question): { score: number; isAboutIt: boolean } {
  const name = wordsOf(splitName(spec.name));
  const values = propertiesOf(spec).flatMap(([, schema]) => enumOf(schema));
  const others = wordsOf(`${spec.description} ${JSON.stringify(values)}`);
  const inName = [...words].filter((word) => name.has(word)).length;
  const shared = [...words].filter((word) => name.has(word) || others.has(word)).length;
  const isNamed = english.includes(spec.name);
  return { score: shared + inName + (isNamed ? 10 : 0), isAboutIt: isNamed || shared * 2 > words.size };
}

function callsFor({ spec, args }: FilledCall, { places }: Question): ChosenCall[] {
  const zones = [...new Set(places.map(({ zone }) => zone))];
  const filled = Object.keys(args).filter((name) => zones.some((zone) => zone === args[name]));
  const [zoned] = filled;
  if (zoned === undefined || filled.length > 1) return [{ name: spec.name, args }];
  return zones.map((zone) => ({ name: spec.name, args: { ...args, [zoned]: zone } }));
}

function namedFunction(toolChoice: JsonValue | undefined): string | undefined {
  const inner = isJsonObject(toolChoice) ? (ownValue(toolChoice, 'function') ?? toolChoice) : undefined;
  const name = isJsonObject(inner) ? ownValue(inner, 'name') : undefined;
  return typeof name === 'string' ? name : undefined;
}
