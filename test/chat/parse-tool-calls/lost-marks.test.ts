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
const keys = '<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n';
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
    ['GLM without the opening tag', `get_weather\n${keys}</tool_call>`, '', [weather]],
    ['GLM without the opening tag, after words', `I look.\nget_weather\n${keys}</tool_call>`, 'I look.', [weather]],
    [
      'GLM without the opening tag of a second call',
      `<tool_call>list_files</tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value><arg_key>days</arg_key><arg_value>3</arg_value></tool_call>`,
      '',
      [files, weather],
    ],
    ['GLM without both tags', `get_weather\n${keys}`, '', [weather]],
    ['GLM without the opening tag, right behind a sentence', `I look.get_weather\n${keys}</tool_call>`, 'I look.', [weather]],
    ['GLM without the opening tag, behind a word', `Sure.get_weather\n${keys}</tool_call>`, 'Sure.', [weather]],
    ['Kimi that lost all marks', 'functions.get_weather:0{"city": "Paris", "days": 3}functions.list_files:1{}', '', [weather, files]],
    ['a name as an attribute', '<tool_call name="get_weather">{"city": "Paris", "days": 3}</tool_call>', '', [weather]],
    [
      'a name and parameters in tags',
      '<tool_call>\n<tool_name>get_weather</tool_name>\n<parameters>{"city": "Paris", "days": 3}</parameters>\n</tool_call>',
      '',
      [weather],
    ],
    [
      'Solar after a thought',
      '<|think|>I need list_files().<|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>0<|tool_call:name|>list_files<|tool_call:args|>{}<|tool_call:end|>',
      '',
      [files],
    ],
    [
      'Kimi, counting with another mark',
      '<|tool_calls_section_begin|><|tool_call_begin|>functions.list_files!0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>',
      '',
      [files],
    ],
    ['JSON in a tag of code', `<tool_code>${json}</tool_code>`, '', [weather]],
    ['Gemini without marks of strings', 'call:default_api:get_weather{city:Paris,days:3}', '', [weather]],
    ['Gemini after words', 'I look.\ncall:default_api:get_weather{city:"Paris",days:3}\n', 'I look.', [weather]],
    ["Gemini's namespace between the marks of Gemma", `<|tool_call>${gemma.replace(':', ':default_api:')}<tool_call|>`, '', [weather]],
    ['Qwen-Agent on one line', 'I look.\n✿FUNCTION✿: get_weather ✿ARGS✿: {"city": "Paris", "days": 3}', 'I look.', [weather]],
    ['Qwen-Agent with full colons', '✿FUNCTION✿：get_weather\n✿ARGS✿：{"city": "Paris", "days": 3}\n✿RESULT✿', '', [weather]],
    [
      'Solar without its outer marks',
      '<|tool_call:begin|>a1<|tool_call:name|>list_files<|tool_call:args|>{}<|tool_call:end|>',
      '',
      [files],
    ],
    [
      'Qwen coder without the ends of parameters',
      '<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n<parameter=days>\n3\n</function>\n</tool_call>',
      '',
      [weather],
    ],
    [
      'Qwen coder without the end of a parameter, before another call',
      '<tool_call>\n<function=search>\n<parameter=query>\na\n</function>\n</tool_call>\n<tool_call>\n<function=search>\n<parameter=query>\nb\n</parameter>\n</function>\n</tool_call>',
      '',
      [
        { name: 'search', arguments: { query: 'a' } },
        { name: 'search', arguments: { query: 'b' } },
      ],
    ],
    [
      'Qwen coder without any end but that of the block',
      '<tool_call>\n<function=search>\n<parameter=query>\na\n</tool_call>',
      '',
      [{ name: 'search', arguments: { query: 'a' } }],
    ],
    ['bold JSON', `**${json}**`, '', [weather]],
    ['a bold block', `I look.\n\n**<tool_call>${json}</tool_call>**`, 'I look.', [weather]],
    ['bold marks', `**<tool_call>**${json}**</tool_call>**`, '', [weather]],
    ['a bold mark', '**[TOOL_CALLS]**get_weather{"city": "Paris", "days": 3}', '', [weather]],
    ['a list in bold', "**[get_weather(city='Paris', days=3)]**", '', [weather]],
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
    ['keys after a name that is not offered', `get_time\n${keys}</tool_call>`],
    ['a call of Kimi that lost all marks, in a sentence', 'functions.list_files:0{} is how Kimi calls.'],
    ['a call of Kimi that lost all marks, after words', 'As follows.\nfunctions.list_files:0{}'],
    ['a thought of Solar', `<|think|><tool_call>${json}</tool_call><|end|>No.`],
    ['keys after a sentence', `It calls get_weather\n${keys}</tool_call>`],
    ['a program in a tag of code', "<tool_code>\nget_weather(city='Paris', days=3)\nfor f in list_files():\n  pass\n</tool_code>"],
    ['a value of a program', "<tool_code>\nw = get_weather(city='Paris', days=3)\n</tool_code>"],
    ["a sentence about Gemini's notation", 'call:default_api:get_weather{city:"Paris",days:3} is how it calls.'],
    ["Gemini's notation in a sentence", 'It writes call:default_api:get_weather{city:"Paris",days:3}'],
    ['the result of Qwen-Agent', `✿RESULT✿: <tool_call>${json}</tool_call>\n✿RETURN✿: No.`],
    ['a parameter that breaks off', '<tool_call>\n<function=get_weather>\n<parameter=city>\nPar'],
    ['bold JSON in a text', `As follows: **${json}**`],
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
  ['text', 'functions.js and functions.list_files: they are functions.'],
  ['text', 'get_weather and **list_files** are\n**bold**,\n\nlist_files\n** too **<|tool_call:x'],
  ['text', 'She assisted -> tools; analysis of it; <tool_call and ]<] [unused1]'],
])('%s stays as it is: %s', (_type, text) => {
  expect(piecesOf(Array.from(text), native)).toEqual([{ type: 'text', text }]);
});
