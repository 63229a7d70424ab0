import { describe, expect, it } from 'vitest';
import { formTools } from './call-forms.ts';
import { judge, piecesOf } from './judge-output.ts';

const native = { tools: formTools, isNative: true, quotes: { isQuoted: () => false } };
const weather = { name: 'get_weather', arguments: { city: 'Paris', days: 3 } };
const files = { name: 'list_files', arguments: {} };
const gemma = 'call:get_weather{city:<|"|>Paris<|"|>,days:3}';
const json = '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}';
const invoke =
  ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Paris]<]minimax[>[</city>]<]minimax[>[<days>3]<]minimax[>[</days>';
const cline = `<server_name>weather</server_name>\n<tool_name>get_weather</tool_name>\n<arguments>\n{\n"city": "Paris",\n"days": 3\n}\n</arguments>`;

describe('a native answer runs', () => {
  it.each([
    ['Gemma without the mark before a call', gemma, '', [weather]],
    ['Gemma without the mark before a call, after words', `I look.\n${gemma}<tool_call|>`, 'I look.\n', [weather]],
    ['Gemma at the end of a turn', `<|tool_call>${gemma}<turn|>`, '', [weather]],
    ['Gemma without any mark behind a call', `<|tool_call>${gemma}`, '', [weather]],
    ['Gemma, where the result would begin', `<|tool_call>${gemma}<tool_call|><|tool_response>`, '', [weather]],
    [
      'Gemma with spaces between the marks',
      '<|tool_call>\ncall: get_weather {\n city: <|"|>Paris<|"|>,\n days: 3 }\n<tool_call|>\n',
      '',
      [weather],
    ],
    ['Gemma with ordinary quotes', '<|tool_call>call:get_weather{city:"Paris",days:3}<tool_call|>', '', [weather]],
    ['Gemma with JSON', '<|tool_call>call:get_weather{"city": "Paris", "days": 3}<tool_call|>', '', [weather]],
    ['Gemma whose strings lost their marks', '<|tool_call>call:get_weather{city:Paris,days:3}<tool_call|>', '', [weather]],
    ['Gemma that lost all marks', 'call:get_weather{city:Paris,days:3}', '', [weather]],
    ['Gemma, two calls in a line', `${gemma}call:list_files{}`, '', [weather, files]],
    ['FunctionGemma without its last mark', '<start_function_call>call:get_weather{city:<escape>Paris<escape>,days:3}', '', [weather]],
    [
      'FunctionGemma with an invented result',
      '<start_function_call>call:get_weather{city:<escape>Paris<escape>,days:3}<end_function_call><start_function_response>',
      '',
      [weather],
    ],
    [
      'Kimi K3 with JSON',
      '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|><|open|>json type="object"<|sep|>{"city": "Paris", "days": 3}<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
      '',
      [weather],
    ],
    [
      'Kimi K3 after a thought that the template has opened, and words',
      'I need it<|close|>think<|sep|><|open|>response<|sep|>I look.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="list_files" index="1"<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>',
      'I need itI look.',
      [files],
    ],
    ['MiniMax M3 without its outer mark', `${invoke}]<]minimax[>[</invoke>`, '', [weather]],
    ['MiniMax M3 in half of its marks', `<tool_call>\n${invoke}]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>`, '', [weather]],
    [
      'Step 3 without its separator',
      '<｜tool_calls_begin｜><｜tool_call_begin｜><steptml:invoke name="list_files"></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
      '',
      [files],
    ],
    [
      'Hunyuan with marks of another name',
      '<tool_calls:opensource><tool_call:opensource>get_weather<tool_sep:opensource><arg_key:opensource>city</arg_key:opensource><arg_value:opensource>Paris</arg_value:opensource><arg_key:opensource>days</arg_key:opensource><arg_value:opensource>3</arg_value:opensource></tool_call:opensource></tool_calls:opensource>',
      '',
      [weather],
    ],
    ['Hunyuan without the end of a call', '<tool_calls><tool_call>list_files<tool_sep></tool_calls>', '', [files]],
    [
      'MiniCPM with its own tag in a value',
      '<function name="get_weather"><param name="city"><![CDATA[Paris</param>]]></param></function>',
      '',
      [{ name: 'get_weather', arguments: { city: 'Paris</param>' } }],
    ],
    [
      'Muse with its headers',
      '<|start|>assistant to=self<|message|>I need it.<|eom|><|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city">Paris</atem:parameter>\n<atem:parameter name="days">3</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>',
      '',
      [weather],
    ],
    ['GigaChat after words', `I look.<|message_sep|>\n\nfunction call<|role_sep|>\n${json}<|message_sep|>\n\n`, 'I look.', [weather]],
    ['GigaChat 3.1', `I look.<|function_call|>${json}</s>`, 'I look.', [weather]],
    [
      'HyperCLOVA X in a turn of its own',
      `I look.<|im_end|>\n<|im_start|>assistant -> tool/function_call\n[${json}]<|im_end|>`,
      'I look.',
      [weather],
    ],
    ['harmony without marks', 'assistantcommentary to=functions.get_weather json{"city": "Paris", "days": 3}', '', [weather]],
    ['harmony without marks, at the beginning', 'commentary to=functions.list_files code{}', '', [files]],
    [
      'harmony without marks, after its analysis',
      'analysisWe need data.assistantcommentary to=functions.get_weather json{"city": "Paris", "days": 3}assistantcommentary to=functions.list_files json{}assistantfinal',
      '',
      [weather, files],
    ],
    ['Cline', `<use_mcp_tool>\n${cline}\n</use_mcp_tool>`, '', [weather]],
    ['Cline after words', `I look.\n\n<use_mcp_tool>\n${cline}\n</use_mcp_tool>`, 'I look.', [weather]],
  ])('%s', (_what, text, content, calls) => {
    const whole = piecesOf([text], native);
    const read = judge(whole, formTools);
    expect({ ...read, content: read.content.trim() }).toMatchObject({ calls, refused: [], content: content.trim() });
    expect(piecesOf(Array.from(text), native)).toEqual(whole);
  });
});

describe('a native answer does not run', () => {
  it.each([
    ['a call of Gemma in a sentence', `Gemma writes ${gemma} for a call.`],
    ['a call of Gemma that lost all marks, and a sentence', 'call:get_weather{city:Paris,days:3} is how Gemma calls.'],
    ['a call of Gemma that lost all marks, after words', 'As follows.\ncall:get_weather{city:Paris,days:3}'],
    ['a text without marks that may hold several members', '<|tool_call>call:get_weather{city:Paris, France}<tool_call|>'],
    ['a text without marks that hides a member', '<|tool_call>call:get_weather{city:Paris,country:France}<tool_call|>'],
    ['a variable of Gemma', '<|tool_call>call:search{query:<|"|>x<|"|>,filters:{tags:[tag]}}<tool_call|>'],
    ['what Gemma left out', '<|tool_call>call:get_weather{city:,days:3}<tool_call|>'],
    ['brackets of Gemma that do not match', '<|tool_call>call:search{filters:{tags:[<|"|>a<|"|>}}<tool_call|>'],
    ['a placeholder of Gemma', 'call:get_weather{city:<city>}'],
    [
      'a member of MiniMax that does not end',
      `]<]minimax[>[<tool_call>${invoke.slice(0, -4)}]<]minimax[>[</invoke>]<]minimax[>[</tool_call>`,
    ],
    ['text between the members of MiniMax', `]<]minimax[>[<tool_call>${invoke} and ]<]minimax[>[</invoke>]<]minimax[>[</tool_call>`],
    [
      'two values of one member',
      `]<]minimax[>[<tool_call>${invoke}]<]minimax[>[<days>4]<]minimax[>[</days>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>`,
    ],
    ['the result of a function of Gemma', `<|tool_response>response:x{value:<|tool_call>${gemma}<tool_call|>}<tool_response|>`],
    ['a thought of Gemma', `<|channel>thought\n<|tool_call>${gemma}<tool_call|><channel|>No.`],
    ['a turn of the user of Gemma', `<|turn>user\n<|tool_call>${gemma}<tool_call|><turn|>`],
    [
      'a message of another role of Kimi',
      '<|open|>message role="tool" tool="x"<|sep|><|open|>call tool="list_files" index="1"<|sep|><|close|>call<|sep|><|close|>message<|sep|>',
    ],
    ['an analysis of harmony without marks', `analysisWe may write <tool_call>${json}</tool_call>.assistantfinalNo.`],
    ['the name of a server alone', '<use_mcp_tool><server_name>weather</server_name><arguments>{}</arguments></use_mcp_tool>'],
    [
      'arguments of Cline that are cut',
      '<use_mcp_tool><tool_name>get_weather</tool_name><arguments>{"city": "Par</arguments></use_mcp_tool>',
    ],
    [
      "a fence of Gemma's that an example is in",
      "Here is how Gemma would call it:\n\n```tool_code\nget_weather(city='Paris', days=3)\n```",
    ],
    ["a fence of Gemma's that a colon introduces", "The notation of Gemma:\n\n```tool_code\nget_weather(city='Paris', days=3)\n```"],
    ["a fence of Gemma's with words behind it", "Let me look.\n\n```tool_code\nget_weather(city='Paris', days=3)\n```\nThat is it."],
  ])('%s', (_what, text) => {
    const whole = piecesOf([text], native);
    expect(judge(whole, formTools).calls).toEqual([]);
    expect(piecesOf(Array.from(text), native)).toEqual(whole);
  });
});

it.each([
  ['text', 'a text that says call: {x}'],
  ['text', 'the function call<|role_x|> and 1 -> tool/x'],
  ['text', 'She assisted -> tools; analysis of it; <tool_call and ]<] [unused1]'],
])('%s stays as it is: %s', (_type, text) => {
  expect(piecesOf(Array.from(text), native)).toEqual([{ type: 'text', text }]);
});
