import { createToolCallParser } from '../../src/chat/parse-tool-calls/tool-call-parser.ts';
import { toolNamed } from '../_support/tools.ts';

/** Characters that arrive at once: tokens, what a server gathers, and whole answers. */
export const pieceSizes = [4, 16, 64, Number.MAX_SAFE_INTEGER];

/** Millions of characters a second for each form of answer, in the order of `pieceSizes`. */
export type ParserSpeeds = Record<string, number[]>;

const call = '{"name": "weather", "arguments": {"city": "Paris, France", "days": 3}}';
const source = 'if (a < b) { return "[x]"; } // `quoted`\n'.repeat(40);

/** Each is repeated to an answer of about two thousand characters; so many calls stand in none, but what one of them costs shows. */
const repeated: Record<string, string> = {
  prose: 'The weather in <b>Paris</b> is [mild] today, and `f(x) < 3` holds. { "temperature": 21 } was measured at noon.\n- one\n- two\n\n',
  thinking: '<think>\nIt is asked for [one] city; maybe {"a": 1}.\n</think>\nIt is mild in Paris today.\n\n',
  Hermes: `<tool_call>\n${call}\n</tool_call>\n`,
  'Qwen coder':
    '<tool_call>\n<function=weather>\n<parameter=city>\nParis, France\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>\n',
  Mistral: '[TOOL_CALLS]weather[ARGS]{"city": "Paris, France", "days": 3}',
  pythonic: "<|python_start|>[weather(city='Paris, France', days=3)]<|python_end|>\n",
  DeepSeek:
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"city": "Paris, France", "days": 3}<｜tool▁call▁end｜><｜tool▁calls▁end｜>\n',
  Kimi: '<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"city": "Paris, France"}<|tool_call_end|><|tool_calls_section_end|>\n',
  GLM: '<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Paris, France</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n',
  harmony: '<|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "Paris, France"}<|call|>',
  'long JSON': `<tool_call>${JSON.stringify({ name: 'weather', arguments: { city: source } })}</tool_call>\n`,
  'long tag': `<function=weather>\n<parameter=city>\n${source}</parameter>\n</function>\n`,
};

/** As a model writes that thinks, answers, and calls a function. */
export const usualAnswer = 'an answer';
const forms: Record<string, string> = {
  [usualAnswer]: `<think>\nThe weather in Paris for three days is asked for; I will look it up.\n</think>\n${repeated['prose']?.repeat(8)}${repeated['Hermes']}`,
  ...repeated,
};

const charactersInRound = 200_000;
const rounds = 12;

/**
 * The best of some rounds, because what disturbs a measurement only slows it down; each round goes through everything, so that a disturbance of
 * a second spoils one round of many. The first one, in which code is cold, is not counted.
 */
export function measureParser(): ParserSpeeds {
  const answers = Object.entries(forms).map(([name, form]) => ({ name, form, answer: form.repeat(Math.ceil(2_000 / form.length)) }));
  for (const each of answers) requireCalls(each);
  const best: ParserSpeeds = {};
  for (let round = 0; round <= rounds; round += 1) {
    for (const { name, answer } of answers) {
      const speeds = pieceSizes.map((size) => speedOf(answer, size));
      best[name] = round <= 1 ? speeds : speeds.map((speed, index) => Math.max(speed, best[name]?.[index] ?? 0));
    }
  }
  return best;
}

function speedOf(answer: string, size: number): number {
  const began = performance.now();
  const characters = readOften(answer, size);
  return characters / 1_000 / (performance.now() - began);
}

const properties = { city: { type: 'string' }, days: { type: 'integer' } };
const tools = [toolNamed('weather', 1, { parameters: { type: 'object', properties } }).spec];

/** The characters that were read. */
function readOften(answer: string, size: number): number {
  const times = Math.ceil(charactersInRound / answer.length);
  for (let time = 0; time < times; time += 1) {
    const parser = createToolCallParser({ tools, isNative: true, quotes: { isQuoted: () => false } });
    for (let at = 0; at < answer.length; at += size) parser.push(answer.slice(at, at + size));
    parser.flush({ isCut: false });
  }
  return times * answer.length;
}

/** Whoever overlooks calls is fast. Each form but words and thoughts is one call. */
function requireCalls({ name, form, answer }: { name: string; form: string; answer: string }): void {
  const parser = createToolCallParser({ tools, isNative: true, quotes: { isQuoted: () => false } });
  const found = [...parser.push(answer), ...parser.flush({ isCut: false })].filter(({ type }) => type === 'call').length;
  const wanted = ['prose', 'thinking'].includes(name) ? 0 : answer.length / form.length;
  if (found !== wanted) throw new Error(`the parser found ${found} calls of ${wanted} in ${name}`);
}
