import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/shared/json/json.ts';
import type { ToolSpec } from '../../../src/core/tools/tool.ts';
import { specOf } from './judge-output.ts';
import type { MeantCall } from './model-words.ts';

/** The form in which one family of models writes calls. `think`: how it writes a thought. */
export interface CallForm {
  name: string;
  write: (calls: readonly MeantCall[]) => string;
  think?: (thought: string) => string;
}

/** What a text means, in any form. */
export interface FormCase {
  name: string;
  calls: readonly MeantCall[];
  before?: string;
  thought?: string;
}

const text = { type: 'string' };
export const formTools: ToolSpec[] = [
  specOf('get_weather', { city: text, days: { type: 'integer' } }),
  specOf('write_note', { text, tags: { type: 'array', items: text } }),
  specOf('search', {
    query: text,
    filters: {
      type: 'object',
      properties: {
        since: { type: 'integer' },
        exact: { type: 'boolean' },
        tags: { type: 'array', items: text },
        range: { type: 'object', properties: { from: { type: 'number' }, to: { type: 'number' } } },
      },
    },
  }),
  specOf('set_values', {
    on: { type: 'boolean' },
    off: { type: 'boolean' },
    ratio: { type: 'number' },
    count: { type: 'integer' },
    nothing: { type: ['string', 'null'] },
    list: { type: 'array', items: { type: 'integer' } },
  }),
  specOf('list_files'),
];

const weather = { name: 'get_weather', arguments: { city: 'Paris', days: 3 } };
const note = { name: 'write_note', arguments: { text: `She said: "it's {a}, [b]: c", <b>no</b> & <|x|> | 5 > 4`, tags: ['x'] } };
const lines = { name: 'write_note', arguments: { text: 'größe 日本語\n\n- two: 2, three\n\t{\n}', tags: ['a', 'b, c'] } };
const nested = {
  name: 'search',
  arguments: { query: 'a/b', filters: { since: 2020, exact: true, tags: ['a', 'b: c'], range: { from: 1.5, to: -2 } } },
};
const scalars = { name: 'set_values', arguments: { on: true, off: false, ratio: -0.5, count: 12, nothing: null, list: [1, 2, 3] } };
const files = { name: 'list_files', arguments: {} };

export const formCases: FormCase[] = [
  { name: 'one call', calls: [weather] },
  { name: 'quotes, brackets and marks in a string', calls: [note] },
  { name: 'several lines in a string', calls: [lines] },
  { name: 'nested values', calls: [nested] },
  { name: 'numbers, booleans and null', calls: [scalars] },
  { name: 'no arguments', calls: [files] },
  { name: 'several calls', calls: [weather, nested, files] },
  { name: 'words before', calls: [weather], before: 'Let me look that up for you.\n\n' },
  { name: 'a thought before', calls: [weather], thought: 'The user wants the weather, not f(x).' },
];

const json = (value: JsonValue): string => JSON.stringify(value);
const call = ({ name, arguments: args }: MeantCall, key = 'arguments'): string => json({ name, [key]: args });
const each = (calls: readonly MeantCall[], write: (one: MeantCall, index: number) => string, between = ''): string =>
  calls.map((one, index) => write(one, index)).join(between);
const listOf = (calls: readonly MeantCall[], key?: string): string => `[${each(calls, (one) => call(one, key), ', ')}]`;
const plain = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : json(value ?? null));
const members = ({ arguments: args }: MeantCall, write: (name: string, value: JsonValue) => string, between = ''): string =>
  Object.entries(args)
    .map(([name, value]) => write(name, value ?? null))
    .join(between);

function python(value: JsonValue | undefined): string {
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (value === null || value === undefined) return 'None';
  if (Array.isArray(value)) return `[${value.map((item) => python(item)).join(', ')}]`;
  if (isJsonObject(value)) return `{${membersOf(value, (key, item) => `'${key}': ${python(item)}`)}}`;
  return json(value);
}
const membersOf = (value: JsonObject, write: (key: string, item: JsonValue) => string): string =>
  Object.entries(value)
    .map(([key, item]) => write(key, item ?? null))
    .join(', ');
const pythonCall = (one: MeantCall): string => `${one.name}(${members(one, (name, value) => `${name}=${python(value)}`, ', ')})`;
const pythonList = (calls: readonly MeantCall[]): string => `[${each(calls, pythonCall, ', ')}]`;

/** Gemma's own notation of a value, with a mark around each string. */
function gemma(value: JsonValue, mark: string): string {
  if (typeof value === 'string') return `${mark}${value}${mark}`;
  if (Array.isArray(value)) return `[${value.map((item) => gemma(item, mark)).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const written = Object.entries(value).map(([key, item]) => `${key}:${gemma(item ?? null, mark)}`);
    return `{${written.join(',')}}`;
  }
  return json(value);
}
const gemmaCall = (one: MeantCall, mark: string): string => `call:${one.name}${gemma(one.arguments, mark)}`;

/** MiniMax M3: members are tags, each after a token. */
function elements(value: JsonValue): string {
  const token = ']<]minimax[>[';
  const element = (name: string, item: JsonValue): string => `${token}<${name}>${elements(item)}${token}</${name}>`;
  if (Array.isArray(value)) return value.map((item) => element('item', item)).join('');
  if (typeof value !== 'object' || value === null) return plain(value);
  return Object.entries(value)
    .map(([name, item]) => element(name, item ?? null))
    .join('');
}

const tagged = (prefix: string, one: MeantCall): string =>
  `<${prefix}invoke name="${one.name}">\n${members(one, (name, value) => `<${prefix}parameter name="${name}">${plain(value)}</${prefix}parameter>\n`)}</${prefix}invoke>`;
const qwenCoder = (one: MeantCall): string =>
  `<function=${one.name}>\n${members(one, (name, value) => `<parameter=${name}>\n${plain(value)}\n</parameter>\n`)}</function>`;
const keysAndValues = (one: MeantCall, prefix = '', suffix = ''): string =>
  members(
    one,
    (name, value) =>
      `<${prefix}arg_key${suffix}>${name}</${prefix}arg_key${suffix}>\n<${prefix}arg_value${suffix}>${plain(value)}</${prefix}arg_value${suffix}>\n`,
  );
const dsml = (name: string, calls: readonly MeantCall[]): string =>
  `<｜DSML｜${name}>\n${each(
    calls,
    (one) =>
      `<｜DSML｜invoke name="${one.name}">\n${members(
        one,
        (key, value) =>
          `<｜DSML｜parameter name="${key}" string="${String(typeof value === 'string')}">${plain(value)}</｜DSML｜parameter>\n`,
      )}</｜DSML｜invoke>\n`,
  )}</｜DSML｜${name}>`;
const typeOf = (value: JsonValue): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/** The forms of models whose answers the gateway has to read, by the name of the family. */
export const callForms: CallForm[] = [
  { name: 'Hermes and Qwen', write: (calls) => each(calls, (one) => `<tool_call>\n${call(one)}\n</tool_call>`, '\n') },
  { name: 'Qwen coder', write: (calls) => each(calls, (one) => `<tool_call>\n${qwenCoder(one)}\n</tool_call>`, '\n') },
  { name: 'Mistral, a list', write: (calls) => `[TOOL_CALLS] ${listOf(calls)}</s>` },
  { name: 'Mistral, name first', write: (calls) => each(calls, ({ name, arguments: args }) => `[TOOL_CALLS]${name}${json(args)}`) },
  {
    name: 'Mistral with marks',
    write: (calls) => each(calls, ({ name, arguments: args }) => `[TOOL_CALLS]${name}[CALL_ID]abcdefghi[ARGS]${json(args)}`),
    think: (thought) => `[THINK]${thought}[/THINK]`,
  },
  { name: 'Llama 3 with its mark', write: (calls) => `<|python_tag|>${each(calls, (one) => call(one, 'parameters'), '; ')}<|eom_id|>` },
  { name: 'Llama 4 with its marks', write: (calls) => `<|python_start|>${pythonList(calls)}<|python_end|><|eot|>` },
  { name: 'LFM2', write: (calls) => `<|tool_call_start|>${pythonList(calls)}<|tool_call_end|>` },
  { name: 'Olmo 3', write: (calls) => `<function_calls>${each(calls, pythonCall, '\n')}</function_calls>` },
  {
    name: 'DeepSeek V3',
    write: (calls) =>
      `<｜tool▁calls▁begin｜>${each(
        calls,
        ({ name, arguments: args }) =>
          `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${json(args)}\n\`\`\`<｜tool▁call▁end｜>`,
        '\n',
      )}<｜tool▁calls▁end｜>`,
  },
  {
    name: 'DeepSeek V3.1',
    write: (calls) =>
      `<｜tool▁calls▁begin｜>${each(
        calls,
        ({ name, arguments: args }) => `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${json(args)}<｜tool▁call▁end｜>`,
      )}<｜tool▁calls▁end｜>`,
  },
  { name: 'DeepSeek V3.2', write: (calls) => dsml('function_calls', calls) },
  { name: 'DeepSeek V4', write: (calls) => dsml('tool_calls', calls) },
  {
    name: 'Kimi K2',
    write: (calls) =>
      `<|tool_calls_section_begin|>${each(
        calls,
        ({ name, arguments: args }, index) =>
          `<|tool_call_begin|>functions.${name}:${index}<|tool_call_argument_begin|>${json(args)}<|tool_call_end|>`,
      )}<|tool_calls_section_end|>`,
  },
  { name: 'GLM 4.5', write: (calls) => each(calls, (one) => `<tool_call>${one.name}\n${keysAndValues(one)}</tool_call>`, '\n') },
  {
    name: 'GLM 5',
    write: (calls) => each(calls, (one) => `<tool_call>${one.name}${keysAndValues(one).replaceAll('>\n<', '><').trimEnd()}</tool_call>`),
  },
  {
    name: 'harmony',
    write: (calls) =>
      each(
        calls,
        ({ name, arguments: args }) =>
          `<|start|>assistant<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${json(args)}<|call|>`,
      ),
    think: (thought) => `<|channel|>analysis<|message|>${thought}<|end|>`,
  },
  {
    name: 'harmony, recipient first',
    write: (calls) =>
      each(
        calls,
        ({ name, arguments: args }) => `<|start|>assistant to=functions.${name}<|channel|>commentary json<|message|>${json(args)}<|call|>`,
      ),
    think: (thought) => `<|channel|>analysis<|message|>${thought}<|end|>`,
  },
  { name: 'Granite 3', write: (calls) => `<|tool_call|>${listOf(calls)}` },
  { name: 'Granite 4', write: (calls) => each(calls, (one) => `<tool_call>${call(one)}</tool_call>`, '\n') },
  { name: 'Granite 20B', write: (calls) => each(calls, (one) => `<function_call> ${call(one)}`, ' ') },
  {
    name: 'InternLM 2',
    write: (calls) => each(calls, (one) => `<|action_start|><|plugin|>\n${call(one, 'parameters')}<|action_end|>`, '\n'),
  },
  { name: 'Jamba', write: (calls) => `<tool_calls>[\n${each(calls, (one) => call(one), ',\n')}\n]</tool_calls>` },
  { name: 'Phi 4 mini', write: (calls) => `functools${listOf(calls)}` },
  { name: 'MiniMax M1', write: (calls) => `<tool_calls>\n${each(calls, (one) => call(one), '\n')}\n</tool_calls>` },
  { name: 'MiniMax M2', write: (calls) => `<minimax:tool_call>\n${each(calls, (one) => tagged('', one), '\n')}\n</minimax:tool_call>` },
  {
    name: 'Seed',
    write: (calls) => `<seed:tool_call>\n${each(calls, qwenCoder, '\n')}\n</seed:tool_call>`,
    think: (thought) => `<seed:think>${thought}</seed:think>`,
  },
  { name: 'Ernie 4.5', write: (calls) => each(calls, (one) => `<tool_call>\n\n${call(one)}\n\n</tool_call>`, '\n\n') },
  { name: 'Hunyuan A13B', write: (calls) => `<tool_calls>${listOf(calls)}</tool_calls>` },
  {
    name: 'Apertus',
    write: (calls) => `<|tools_prefix|>[${each(calls, ({ name, arguments: args }) => json({ [name]: args }), ', ')}]<|tools_suffix|>`,
  },
  { name: 'Nemotron', write: (calls) => `<TOOLCALL>${listOf(calls)}</TOOLCALL>` },
  {
    name: 'Command R and A',
    write: (calls) =>
      `<|START_ACTION|>[\n${each(
        calls,
        ({ name, arguments: parameters }, index) => json({ tool_call_id: String(index), tool_name: name, parameters }),
        ',\n',
      )}\n]<|END_ACTION|>`,
    think: (thought) => `<|START_THINKING|>${thought}<|END_THINKING|>`,
  },
  { name: 'functionary', write: (calls) => each(calls, ({ name, arguments: args }) => `<function=${name}>${json(args)}</function>`) },
  { name: "Anthropic's tags", write: (calls) => `<function_calls>\n${each(calls, (one) => tagged('', one), '\n')}\n</function_calls>` },
  { name: 'Llama 3, bare JSON', write: (calls) => each(calls, (one) => call(one, 'parameters'), '; ') },
  { name: 'Llama 4, a bare list', write: (calls) => pythonList(calls) },
  { name: 'Gemma 3', write: (calls) => `\`\`\`tool_code\n${each(calls, pythonCall, '\n')}\n\`\`\`` },
  { name: 'xLAM, bare', write: (calls) => listOf(calls) },
  { name: 'xLAM, in a fence', write: (calls) => `\`\`\`json\n${listOf(calls)}\n\`\`\`` },
  { name: 'LongCat, JSON', write: (calls) => each(calls, (one) => `<longcat_tool_call>\n${call(one)}\n</longcat_tool_call>`, '\n') },
  { name: 'GigaChat 3', write: (calls) => each(calls, (one) => `function call<|role_sep|>\n${call(one)}`, '<|message_sep|>\n\n') },
  {
    name: 'Pangu',
    write: (calls) => `[unused11]${listOf(calls)}[unused12]`,
    think: (thought) => `[unused16]${thought}[unused17]`,
  },
  { name: 'HyperCLOVA X', write: (calls) => ` -> tool/function_call\n${listOf(calls)}<|im_end|>` },
  {
    name: 'Gemma 4',
    write: (calls) => each(calls, (one) => `<|tool_call>${gemmaCall(one, '<|"|>')}<tool_call|>`),
    think: (thought) => `<|channel>thought\n${thought}<channel|>`,
  },
  {
    name: 'FunctionGemma',
    write: (calls) => each(calls, (one) => `<start_function_call>${gemmaCall(one, '<escape>')}<end_function_call>`),
  },
  {
    name: 'Kimi K3',
    write: (calls) =>
      `<|open|>tools<|sep|>${each(
        calls,
        (one, index) =>
          `<|open|>call tool="${one.name}" index="${index + 1}"<|sep|>${members(
            one,
            (key, value) => `<|open|>argument key="${key}" type="${typeOf(value)}"<|sep|>${plain(value)}<|close|>argument<|sep|>`,
          )}<|close|>call<|sep|>`,
      )}<|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>`,
    think: (thought) => `<|open|>think<|sep|>${thought}<|close|>think<|sep|><|open|>response<|sep|><|close|>response<|sep|>`,
  },
  {
    name: 'MiniMax M3',
    write: (calls) =>
      `]<]minimax[>[<tool_call>\n${each(
        calls,
        (one) => `]<]minimax[>[<invoke name="${one.name}">${elements(one.arguments)}]<]minimax[>[</invoke>\n`,
      )}]<]minimax[>[</tool_call>`,
  },
  {
    name: 'LongCat',
    write: (calls) => each(calls, (one) => `<longcat_tool_call>${one.name}\n${keysAndValues(one, 'longcat_')}</longcat_tool_call>`, '\n'),
    think: (thought) => `<longcat_think>\n${thought}\n</longcat_think>`,
  },
  {
    name: 'Step 3',
    write: (calls) =>
      `<｜tool_calls_begin｜>\n${each(
        calls,
        (one) => `<｜tool_call_begin｜>function<｜tool_sep｜>${tagged('steptml:', one)}<｜tool_call_end｜>\n`,
      )}<｜tool_calls_end｜>`,
  },
  {
    name: 'Hunyuan 3',
    write: (calls) =>
      `<tool_calls>\n${each(calls, (one) => `<tool_call>${one.name}<tool_sep>\n${keysAndValues(one)}</tool_call>\n`)}</tool_calls>`,
  },
  {
    name: 'Muse',
    write: (calls) => `<atem:function_calls>\n${each(calls, (one) => tagged('atem:', one), '\n')}\n</atem:function_calls>`,
  },
  {
    name: 'MiniCPM 5',
    write: (calls) =>
      each(
        calls,
        (one) =>
          `<function name="${one.name}">${members(one, (name, value) => {
            const written = plain(value);
            return `<param name="${name}">${/[\n<&]/.test(written) ? `<![CDATA[${written}]]>` : written}</param>`;
          })}</function>`,
        '\n',
      ),
  },
  {
    name: 'Nova',
    write: (calls) => each(calls, (one) => qwenCoder(one).replaceAll(/<(\/?)(function|parameter)/g, '<$1__$2'), '\n'),
  },
  {
    name: 'Solar',
    write: (calls) =>
      `<|tool_calls|>${each(
        calls,
        ({ name, arguments: args }, index) =>
          `<|tool_call:begin|>id${index}<|tool_call:name|>${name}<|tool_call:args|>${json(args)}<|tool_call:end|>`,
      )}<|calls|>`,
  },
  {
    name: 'Qwen-Agent',
    write: (calls) => each(calls, ({ name, arguments: args }) => `✿FUNCTION✿: ${name}\n✿ARGS✿: ${json(args)}`, '\n'),
  },
  {
    name: 'Gemini',
    write: (calls) => each(calls, (one) => gemmaCall(one, '<ctrl46>').replace(':', ':default_api:'), '\n'),
  },
  {
    name: 'Gemini, code',
    write: (calls) => `<tool_code>\n${each(calls, (one) => `print(default_api.${pythonCall(one)})`, '\n')}\n</tool_code>`,
  },
  { name: 'LM Studio', write: (calls) => each(calls, (one) => `[TOOL_REQUEST]${call(one)}[END_TOOL_REQUEST]`, '\n') },
];

export function writtenIn(
  { write, think = (thought) => `<think>${thought}</think>\n\n` }: CallForm,
  { calls, before = '', thought }: FormCase,
): string {
  return `${thought === undefined ? '' : think(thought)}${before}${write(calls)}`;
}
