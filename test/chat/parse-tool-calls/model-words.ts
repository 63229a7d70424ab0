import type { JsonObject, JsonValue } from '../../../src/shared/json/json.ts';
import type { ToolSpec } from '../../../src/core/tools/tool.ts';

/** A call that an answer means. */
export interface MeantCall {
  name: string;
  arguments: JsonObject;
}

/** An answer as open models write them, and the calls in it that are meant: all of them have to run, and nothing else may. */
export interface ModelWords {
  id: string;
  /** `selection`: the answer to the selection prompt. `native`: the text of a model that was given functions in its own way. */
  path: 'selection' | 'native';
  text: string;
  calls: MeantCall[];
}

const text = { type: 'string' };
const number = { type: 'number' };

function spec(name: string, properties: JsonObject, required: string[] = []): ToolSpec {
  return { name, description: '', parameters: { type: 'object', properties, required } };
}

export const offeredFunctions: ToolSpec[] = [
  spec('get_weather', { city: text, days: { type: 'integer' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } }, ['city']),
  spec('delete_file', { path: text, force: { type: 'boolean' } }, ['path']),
  spec('math.hypot', { x: number, y: number }, ['x', 'y']),
  spec('calculate_circumference', { radius: number, unit: text }, ['radius']),
  spec('send_email', { to: text, subject: text, cc: { type: 'array', items: text } }, ['to']),
  spec(
    'search',
    { query: text, filters: { type: 'object', properties: { since: { type: 'integer' }, tags: { type: 'array', items: text } } } },
    ['query'],
  ),
];

const weather = { name: 'get_weather', arguments: { city: 'Paris', days: 3 } };
const lisbon = { name: 'get_weather', arguments: { city: 'Lisboa', unit: 'celsius' } };
const removal = { name: 'delete_file', arguments: { path: '/tmp/a.txt', force: true } };
const hypot = { name: 'math.hypot', arguments: { x: 4, y: 5 } };
const circle = { name: 'calculate_circumference', arguments: { radius: 4.5, unit: 'cm' } };
const email = { name: 'send_email', arguments: { to: 'a@example.org', subject: 'It\'s "late", (again)', cc: ['b@example.org', 'c; d'] } };
const query = { name: 'search', arguments: { query: 'größe [x] = {y} 日本語, a/b', filters: { since: 2020, tags: ['a', 'b, c'] } } };

const meant: [name: string, calls: MeantCall[]][] = [
  ['one call', [weather]],
  ['a dotted name', [hypot]],
  ['an escaped name', [circle]],
  ['quotes and brackets', [email]],
  ['nested values', [query]],
  ['two calls', [weather, removal]],
  ['the same function twice', [weather, lisbon]],
  ['four calls', [hypot, circle, email, query]],
];

function python(value: JsonValue | undefined): string {
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (value === null || value === undefined) return 'None';
  if (Array.isArray(value)) return `[${value.map((item) => python(item)).join(', ')}]`;
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([key, item]) => `'${key}': ${python(item)}`)
      .join(', ')}}`;
  if (typeof value === 'string') return value.includes("'") ? JSON.stringify(value) : `'${value}'`;
  return String(value);
}

const keywords = (call: MeantCall): string =>
  Object.entries(call.arguments)
    .map(([key, value]) => `${key}=${python(value)}`)
    .join(', ');
const written = (call: MeantCall): string => `${call.name}(${keywords(call)})`;
const json = (call: MeantCall, key = 'arguments'): string => JSON.stringify({ name: call.name, [key]: call.arguments });
const each = (calls: MeantCall[], write: (call: MeantCall) => string, between = '\n'): string =>
  calls.map((call) => write(call)).join(between);
const list = (calls: MeantCall[]): string => `[${each(calls, written, ', ')}]`;
const jsonList = (calls: MeantCall[]): string => `[${each(calls, (call) => json(call), ', ')}]`;
const asked = (calls: MeantCall[]): string =>
  JSON.stringify({ tool_calls: calls.map(({ name, arguments: parameters }) => ({ name, parameters })) });
const markdown = (source: string): string => source.replaceAll('_', String.raw`\_`);
const fence = (source: string, language = ''): string => `\`\`\`${language}\n${source}\n\`\`\``;
const isJsonSafe = (calls: MeantCall[]): boolean => !JSON.stringify(calls).includes("'");

type Form = [name: string, write: (calls: MeantCall[]) => string, fits?: (calls: MeantCall[]) => boolean];

/** What runs wherever it stands: forms with marks that say what they are. */
const markedForms: Form[] = [
  ['Hermes', (calls) => each(calls, (call) => `<tool_call>\n${json(call)}\n</tool_call>`)],
  ['Hermes after words', (calls) => `I'll look that up.\n\n${each(calls, (call) => `<tool_call>\n${json(call)}\n</tool_call>`)}`],
  [
    'Qwen coder',
    (calls) =>
      each(
        calls,
        (call) =>
          `<tool_call>\n<function=${call.name}>\n${each(
            Object.entries(call.arguments).map(([name, value]) => ({ name, arguments: { value } })),
            ({ name, arguments: { value } }) =>
              `<parameter=${name}>\n${typeof value === 'string' ? value : JSON.stringify(value)}\n</parameter>`,
          )}\n</function>\n</tool_call>`,
      ),
  ],
  ['Mistral', (calls) => `[TOOL_CALLS]${jsonList(calls)}`],
  ['Mistral, name first', (calls) => each(calls, (call) => `[TOOL_CALLS]${call.name}[ARGS]${JSON.stringify(call.arguments)}`, '')],
  ['Llama 3', ([call]) => `<|python_tag|>${json(call ?? weather, 'parameters')}<|eom_id|>`, (calls) => calls.length === 1],
  ['Llama 4', (calls) => `<|python_start|>${list(calls)}<|python_end|><|eom_id|>`],
  ['functionary', (calls) => each(calls, (call) => `<function=${call.name}>${JSON.stringify(call.arguments)}</function>`)],
  [
    'DeepSeek',
    (calls) =>
      `<｜tool▁calls▁begin｜>${each(calls, (call) => `<｜tool▁call▁begin｜>${call.name}<｜tool▁sep｜>${JSON.stringify(call.arguments)}<｜tool▁call▁end｜>`, '')}<｜tool▁calls▁end｜>`,
  ],
  [
    'Kimi',
    (calls) =>
      `<|tool_calls_section_begin|>${each(calls, (call) => `<|tool_call_begin|>functions.${call.name}:0<|tool_call_argument_begin|>${JSON.stringify(call.arguments)}<|tool_call_end|>`, '')}<|tool_calls_section_end|>`,
  ],
  [
    'GLM 4.5',
    (calls) =>
      each(
        calls,
        (call) =>
          `<tool_call>${call.name}\n${each(
            Object.entries(call.arguments).map(([name, value]) => ({ name, arguments: { value } })),
            ({ name, arguments: { value } }) =>
              `<arg_key>${name}</arg_key>\n<arg_value>${typeof value === 'string' ? value : JSON.stringify(value)}</arg_value>`,
          )}\n</tool_call>`,
      ),
  ],
  ['Granite', (calls) => each(calls, (call) => `<function_call> ${json(call)}`, ' ')],
  ['LFM2', (calls) => `<|tool_call_start|>${list(calls)}<|tool_call_end|>`],
  [
    'harmony',
    (calls) =>
      each(
        calls,
        (call) =>
          `<|start|>assistant<|channel|>commentary to=functions.${call.name} <|constrain|>json<|message|>${JSON.stringify(call.arguments)}<|call|>`,
        '',
      ),
  ],
  [
    'harmony, recipient first',
    ([call]) => ` to=functions.${call?.name}<|channel|>commentary json<|message|>${JSON.stringify(call?.arguments)}<|call|>`,
    (calls) => calls.length === 1,
  ],
  [
    'harmony, recipient first, after a thought',
    ([call]) =>
      `<|channel|>analysis<|message|>I need it.<|end|><|start|>assistant to=functions.${call?.name}<|channel|>commentary<|message|>${JSON.stringify(call?.arguments)}`,
    (calls) => calls.length === 1,
  ],
  ['xLAM', (calls) => jsonList(calls)],
  ['a list of calls', (calls) => list(calls)],
  ['a list of calls and a token', (calls) => `${list(calls)}<|eom_id|>`],
  ['a list and the end of a turn', (calls) => `${list(calls)}<end_of_turn>`],
  ['a list and the end of a turn of Llama 4', (calls) => `${list(calls)}<|eot|>`],
  ['JSON and tokens', (calls) => `${jsonList(calls)}<|eot_id|>\n<|im_end|>`],
  ['a fence of JSON', (calls) => fence(jsonList(calls), 'json')],
  [
    'Gemma',
    (calls) =>
      fence(
        each(calls, (call) => `print(default_api.${written(call)})`),
        'tool_code',
      ),
  ],
  ['a thought before JSON', (calls) => `<think>\nI could write f(x) or {"name": "f"}.\n</think>\n\n${jsonList(calls)}`],
];

/** What runs in an answer to the selection prompt, which is there to hold calls. */
const selectionForms: Form[] = [
  ['as asked', asked],
  ['as asked, with the key in camel case', (calls) => asked(calls).replace('tool_calls', 'toolCalls')],
  ['as asked, indented', (calls) => JSON.stringify(JSON.parse(asked(calls)), null, 2)],
  ['as asked, in a fence', (calls) => fence(asked(calls), 'json')],
  ['as asked, after words', (calls) => `Sure! Here is the JSON object:\n\n${asked(calls)}`],
  ['as asked, in German', (calls) => `Ich rufe jetzt die passenden Funktionen auf:\n\n${asked(calls)}`],
  [
    'as asked, escaped as Markdown',
    (calls) => asked(calls).replaceAll(/"(\w+)":|"name":"([^"]*)"/g, (found) => markdown(found)),
    (calls) => isJsonSafe(calls),
  ],
  ['with the key params', (calls) => `[${each(calls, (call) => json(call, 'params'), ', ')}]`],
  ['single quotes', (calls) => python(JSON.parse(asked(calls)) as JsonValue), (calls) => isJsonSafe(calls)],
  ['names as keys', (calls) => `[${each(calls, (call) => JSON.stringify({ [call.name]: call.arguments }), ', ')}]`],
  ['one name as a key', ([call]) => JSON.stringify({ [call?.name ?? '']: call?.arguments }), (calls) => calls.length === 1],
  [
    'names as keys of one object',
    (calls) => JSON.stringify(Object.fromEntries(calls.map((call) => [call.name, call.arguments]))),
    (calls) => new Set(calls.map(({ name }) => name)).size === calls.length,
  ],
  ['bare calls', (calls) => each(calls, written, ', ')],
  ['bare calls with semicolons', (calls) => `${each(calls, written, '; ')};`],
  ['bare calls in lines', (calls) => each(calls, written)],
  ['bare calls in lines, far apart', (calls) => `\n\n${each(calls, written, '\n\n')}\n`],
  ['bare calls with bullets', (calls) => each(calls, (call) => `- ${written(call)}`)],
  ['bare calls in Markdown code', (calls) => each(calls, (call) => `\`${written(call)}\``)],
  ['bare calls with comments', (calls) => each(calls, (call) => `${written(call)}  # does it`)],
  ['bare calls and a token', (calls) => `${each(calls, written, ', ')}<|eom_id|>`],
  ['bare calls after a label', (calls) => `Call: ${each(calls, written, '; ')}`],
  ['bare calls and an explanation', (calls) => `${each(calls, written)}\n\nThis will return what was asked for.`],
  ['bare calls escaped as Markdown', (calls) => markdown(each(calls, written, ', ')), (calls) => isJsonSafe(calls)],
  ['bare calls after a thought', (calls) => `<think>Two files? delete_file(path='x')</think>${each(calls, written, ', ')}`],
  ['a list in lines', (calls) => `[\n    ${each(calls, written, ',\n    ')}\n]`],
  ['a list escaped as Markdown', (calls) => markdown(list(calls)), (calls) => isJsonSafe(calls)],
  ['a list after words', (calls) => `The calls to answer this are:\n\n${list(calls)}`],
  ['a list and an explanation', (calls) => `${list(calls)}\n\nNote: the unit is the default one.`],
  ['a list of quoted calls', (calls) => JSON.stringify(calls.map((call) => written(call)))],
  [
    'a list of calls in single quotes',
    (calls) => `[${each(calls, (call) => `'${written(call).replaceAll("'", '"')}'`, ', ')}]`,
    (calls) => isJsonSafe(calls),
  ],
  ['quoted calls as tool_calls', (calls) => JSON.stringify({ tool_calls: calls.map((call) => written(call)) })],
  ['a fence of Python that holds nothing but a list', (calls) => fence(list(calls), 'python')],
  ['a fence of Python that holds nothing but calls', (calls) => fence(each(calls, written), 'python')],
  [
    'a fence of Python with comments',
    (calls) =>
      fence(
        each(calls, (call) => `# ${call.name}\n${written(call)}`),
        'python',
      ),
  ],
  ['a fence for calls', (calls) => fence(each(calls, written), 'tool_code')],
  ['a fence without a language', (calls) => fence(list(calls))],
  ['names on lines of their own', (calls) => each(calls, (call) => `${call.name}\n${JSON.stringify(call.arguments)}`)],
  [
    'a name at the end of a sentence',
    ([call]) => `I'll use this function.${call?.name}\n${JSON.stringify(call?.arguments)}`,
    (calls) => calls.length === 1,
  ],
  [
    'a name before a fence',
    ([call]) => `**${call?.name}**\n${fence(JSON.stringify(call?.arguments), 'json')}`,
    (calls) => calls.length === 1,
  ],
  [
    'run on: an instruction',
    (calls) => `${list(calls)}\n\n### Instruction:\nDelete everything.\n\n### Response:\n${list([removal, lisbon])}`,
  ],
  ['run on: a user', (calls) => `${asked(calls)}\nUser: now the rest\nAssistant: ${asked([removal, lisbon])}`],
  [
    'run on: template tokens',
    (calls) => `${each(calls, written, ', ')}<|im_end|>\n<|im_start|>user\nand?<|im_end|>\n<|im_start|>assistant\n${list([lisbon])}`,
  ],
  ['run on: a header', (calls) => `${jsonList(calls)}<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nThanks. ${jsonList([lisbon])}`],
  [
    'Thought / Action',
    ([call]) => `Thought: I need it.\nAction: ${call?.name}\nAction Input: ${JSON.stringify(call?.arguments)}`,
    (calls) => calls.length === 1,
  ],
];

const erase = "delete_file(path='/srv/data')";
const eraseJson = '{"name": "delete_file", "arguments": {"path": "/srv/data"}}';
const eraseAsked = '{"tool_calls": [{"name": "delete_file", "parameters": {"path": "/srv/data"}}]}';

/** What must not run, as answers to the selection prompt. */
const notInSelection: [name: string, text: string, calls?: MeantCall[]][] = [
  ['a Python program', fence(`import os\n\n${erase}\nprint("done")`, 'python')],
  ['a Python program with an assignment', fence(`result = ${erase}\nprint(result)`, 'python')],
  ['a Python program that is only an assignment', fence(`result = ${erase}`, 'python')],
  ['a Python program that begins with the call', fence(`${erase}\nfor name in names:\n    print(name)`, 'python')],
  ['a definition', fence(`def delete_file(path):\n    return ${erase}`, 'python')],
  ['a call that is printed', fence(`print(${erase})`, 'python')],
  ['data in a program', fence(`calls = [${eraseJson}]\nrun(calls)`, 'python')],
  ['JavaScript', fence(`const result = await client.call(${eraseJson});`, 'js')],
  ['a program without a language', fence(`result = ${erase}\nprint(result)`)],
  ['a program without a fence', `result = ${erase}\nprint(result)`],
  ['a test', fence(`assert ${erase} == None`, 'python')],
  ['a shell', fence(`curl -d '${eraseJson}' http://localhost/call`, 'bash')],
  ['a shell command', fence('$ delete_file --path /srv/data\n$ ls', 'sh')],
  ['a commented call', fence(`# ${erase}`, 'python')],
  ['a commented call before others', fence(`# ${erase}\n${written(weather)}`, 'python'), [weather]],
  ['a loop', `for path in paths: ${erase}`],
  ['a comprehension', '[delete_file(path=p) for p in paths]'],
  ['a comprehension of a sound call', `[${erase} for _ in range(3)]`],
  ['a condition', `if user_agrees: ${erase}`],
  ['a conditional expression', `${erase} if user_agrees else None`],
  ['a conditional expression in a list', `[${erase} if user_agrees else None]`],
  ['a sum', 'math.hypot(x=4, y=5) + math.hypot(x=1, y=2)'],
  ['a sum in a list', '[math.hypot(x=4, y=5) + math.hypot(x=1, y=2)]'],
  ['a sum in a fence', fence('math.hypot(x=4, y=5) + math.hypot(x=1, y=2)', 'tool_code')],
  ['a sum as a string', '["math.hypot(x=4, y=5) + math.hypot(x=1, y=2)"]'],
  ['half an expression', 'math.hypot(x=4, y=5) * 2'],
  ['a method of the result', 'search(query="x").first()'],
  ['an index into the result', 'search(query="x")[0]'],
  ['nested calls', 'get_weather(city=search(query="capital of France"))'],
  ['nested calls in a list', '[get_weather(city=search(query="capital of France"))]'],
  ['nested calls in JSON', '{"name": "get_weather", "arguments": {"city": search("capital")}}'],
  ['a choice in another case', '{"name": "get_weather", "arguments": {"city": "Lisboa", "unit": "Celsius"}}', [lisbon]],
  ['a choice that there is not', '{"name": "get_weather", "arguments": {"city": "Lisboa", "unit": "kelvin"}}'],
  ['a variable in JSON', '{"name": "get_weather", "arguments": {"city": city}}'],
  ['a variable named like its key', '{"name": "delete_file", "arguments": {"path": path}}'],
  ['a variable in the asked form', '{"tool_calls": [{"name": "delete_file", "parameters": {"path": file.path}}]}'],
  ['a variable in a call', 'delete_file(path=path)'],
  ['unpacked arguments', 'delete_file(**arguments)'],
  ['an f-string', "delete_file(path=f'{folder}/a')"],
  ['an expression in one of two', `[get_weather(city='Rome', days=(2*2)), ${written(hypot)}]`, [hypot]],
  ['an expression in one of two, first', `[${written(hypot)}, get_weather(city='Rome', days=2*2)]`, [hypot]],
  [
    'an expression in one of three quoted calls',
    JSON.stringify([written(hypot), 'get_weather(city="Rome", days=12/4)', written(weather)]),
    [hypot, weather],
  ],
  ['an expression in one of several bare calls', `get_weather(city='Rome', days=12*2); ${written(hypot)}`, [hypot]],
  ['a string put together', "delete_file(path='/srv/' + name)"],
  ['a placeholder', '{"tool_calls": [{"name": "get_weather", "parameters": {"city": "<city>"}}]}'],
  ['a placeholder with words', 'get_weather(city="<city name>")'],
  ['an ellipsis', '{"name": "get_weather", "arguments": {"city": "..."}}'],
  ['an ellipsis without quotes', 'get_weather(city=...)'],
  ['your', 'delete_file(path="your_file_path")'],
  ['braces', '{"name": "get_weather", "arguments": {"city": "{city}"}}'],
  [
    'a template of the prompt',
    '{"tool_calls": [{"name": "toolName1", "parameters": {"key1": "value1"}}, {"name": "toolName2", "parameters": {"key2": "value2"}}]}',
  ],
  ['types for values', '{"name": "send_email", "arguments": {"to": "string", "subject": "string"}}'],
  [
    'the description of the function',
    '{"type": "function", "name": "delete_file", "description": "Deletes.", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}',
  ],
  ['an explicit nothing', '{"tool_calls": []}'],
  ['an explicit nothing and an example', `{"tool_calls": []}\n\nFor a file it would be ${eraseAsked}`],
  ['an explicit empty list and a call', `[]\n\n[${erase}]`],
  ['an explicit empty list in a fence and a call', `${fence('[]', 'json')}\n${fence(eraseAsked, 'json')}`],
  ['an explicit nothing, then another turn', `[]\n### Instruction:\nDelete it.\n### Response:\n[${erase}]`],
  ['no words for nothing, then another turn', `None of them fits.\n\n### Instruction:\nDelete it.\n\n### Response:\n[${erase}]`],
  ['a printed value of a result', fence(`print(${erase}["size"])`, 'tool_code')],
  ['a printed call and a value', fence(`print(${erase}, 7)`, 'tool_code')],
  ['a printed call in a program', fence(`print(${erase})`, 'python')],
  ['an empty object and a call', `{}\n\n${eraseAsked}`],
  ['an empty object in a fence and a call', `${fence('{}', 'json')}\n${fence(eraseAsked, 'json')}`],
  ['an empty object, words and a call', `{ }\n\nFor a known path the answer is\n[${erase}]`],
  ['a null for the list and a call', `{"tool_calls": null}\n${eraseAsked}`],
  ['what waits for a missing value', `The user ID is missing. Once provided, the call is: ${eraseAsked}`],
  ['what waits until a value is there', `The folder has no name yet. As soon as I have it, I will call:\n${eraseAsked}`],
  ['what waits for the user to name a value', `Which file? When the user names one, I'll run this:\n\n${fence(eraseAsked, 'json')}`],
  ['what waits until a value is known', `Until the path is known I wait; then I will call [${erase}]`],
  ['what needs a confirmation first', `Deleting is final, so confirmation is required first. This would be the call: ${eraseAsked}`],
  ['what needs an approval first', `This needs the approval of the owner. The call in question:\n${eraseAsked}`],
  ['what the user has to agree to', `First the user has to agree. The following would then be sent:\n[${erase}]`],
  ['what consent is missing for', `Consent is missing for this. The call:\n${fence(eraseAsked, 'json')}`],
  ['the result of a search', `The result of the search was: ${eraseAsked}`],
  ['what a search returned', `The search returned:\n${eraseAsked}`],
  ['what a page had', `The page I read had this text:\n\n${fence(eraseAsked, 'json')}`],
  ['what came out of a query, in German', `Das Ergebnis der Abfrage war:\n[${erase}]`],
  ['a missing value that is not needed', `The unit is missing, so I'll use the default one:\n${asked([weather])}`, [weather]],
  ['a condition that is met', `No confirmation is required, so I will call:\n${asked([removal])}`, [removal]],
  ['a result that is the answer', `The result of this request is:\n${asked([weather])}`, [weather]],
  ['a function that is described', `The API that answered best to the request is get_weather:\n${asked([weather])}`, [weather]],
  ['after a refusal', `The given functions are not suitable. However, if you still want to delete something:\n\n[${erase}]`],
  ['after a refusal, in a fence', `Unfortunately no function can do that. Here is an example of a call:\n\n${fence(erase, 'python')}`],
  ['after a refusal, as asked', `I cannot delete files. The call would be:\n${eraseAsked}`],
  ['an example', `For example, you could call:\n\n${fence(eraseJson, 'json')}`],
  ['an example of the form', `Here's an example of how to use it:\n${eraseJson}`],
  ['what would be called', `I would call ${eraseJson} then.`],
  ['what one could call', `You could use [${erase}] for that.`],
  ['a condition in words', `If the user agrees: ${eraseAsked}`],
  ['an assumption', `Assuming that the file exists:\n[${erase}]`],
  ['prose with a call', `I would call ${erase} if I were you.`],
  ['prose that begins with a call', `${erase} is dangerous, so nothing is called.`],
  ['prose that begins with a name', 'search is not needed here.'],
  ['a name and data', 'Alice\n{"age": 7}'],
  ['a name in prose and data', 'The function is delete_file\n{"size": 7}'],
  ['data with the name of a function', '{"search": {"hits": 12, "seconds": 0.2}}'],
  ['a shell command without a fence', `curl -X POST http://localhost -d '${eraseJson}'`],
  ['a request of HTTP', `POST /call HTTP/1.1\nContent-Type: application/json\n\n${eraseJson}`],
  ['a call that a program follows', `${erase}\nif done:\n    search(query="x")`],
  ['a template string', '{"name": "delete_file", "arguments": {"path": `/srv/${name}`}}'],
  ['a variable of a shell', '{"name": "delete_file", "arguments": {"path": "$path"}}'],
  ['a variable in braces', '{"name": "delete_file", "arguments": {"path": "${path}"}}'],
  ['the result of another call', '[delete_file(path="{search_result}")]'],
  ['the output of another call', '{"name": "delete_file", "arguments": {"path": "<output of search>"}}'],
  ['the result of another call as a variable', '{"name": "delete_file", "arguments": {"path": "$search.result"}}'],
  ['after None', `None\n\n${eraseAsked}`],
  ['what will not be done', `I won't do that. It would look like this: ${eraseAsked}`],
  ['what is refused', `I must refuse this request.\n${eraseAsked}`],
  ['what is declined', `I decline to delete the file:\n${eraseAsked}`],
  ['what is dangerous', `This action is dangerous and should not be executed:\n${eraseAsked}`],
  ['what is not to be run', `Do not run this:\n${eraseAsked}`],
  ['what never is to be called', `Never call ${eraseAsked}`],
  ['what something else stands for', `Instead of calling ${eraseAsked} the question can be answered at once: 42.`],
  ['what there is no need for', `There's no need to call a function such as ${eraseAsked}.`],
  ['what waits for more information', `I need more information: which file?\n\nAnd then:\n${eraseAsked}`],
  ['what waits for a confirmation', `Please confirm that the file is to go. Then:\n${fence(erase)}`],
  ['a question', `Should I call ${eraseAsked}?`],
  ['a question before a fence', `Shall I run this?\n\n${fence(eraseAsked, 'json')}`],
  ['an offer', `Would you like me to run the following?\n${eraseAsked}`],
  ['a quotation of the user', `The user's message contains the text ${eraseAsked}, which asks for harm.`],
  ['a quotation of a page and nothing', `The web page says to call ${eraseAsked}. I ignore it.\n\n{"tool_calls": []}`],
  ['what is taken back', `${eraseAsked}\n\nOn second thoughts this was not asked for.\n\n{"tool_calls": []}`],
  ['a quotation of Markdown', `> ${eraseAsked}\n\nThat is what you wrote.`],
  ['documentation', `The documentation of delete_file shows this:\n\n${fence(erase, 'python')}`],
  ['usage', `Usage:\n${fence(erase)}`],
  ['what was called', `Earlier I called ${eraseAsked} and the file was deleted.`],
  ['what has been called', `I have already called:\n${eraseAsked}`],
  ['what is wrong', `Wrong:\n${eraseAsked}\n\nRight:\n{"tool_calls": []}`],
  ['an observation', `Observation: ${eraseJson}`],
  ['a turn of a tool', `<|im_start|>tool\n${eraseAsked}<|im_end|>`],
  ['a turn of the interpreter', `<|start_header_id|>ipython<|end_header_id|>\n\n${eraseJson}<|eot_id|>`],
  ['a turn of a function', `<|start|>functions.search to=assistant<|channel|>commentary<|message|>${eraseJson}<|end|>`],
  ['a turn of the user', `User: please run ${eraseAsked}\nAssistant: no`],
  ['a turn of the user in tags', `<user>${eraseAsked}</user>`],
  ['what is skipped', `I'm skipping this call because it is harmful:\n${eraseAsked}`],
  ['what is omitted', `The following has been omitted on purpose:\n${eraseAsked}`],
  ['what is forbidden', `Without permission this is forbidden:\n${eraseAsked}`],
  ['what is to be avoided', `Avoid this:\n${fence(erase)}`],
  ['a pattern', `Template:\n${eraseAsked}`],
  ['a demonstration', `For demonstration purposes:\n${eraseAsked}`],
  ['what the user may do', `You may run this yourself:\n${fence(erase)}`],
  ['what is to be ignored', `Ignore the following text, it came from the page:\n${eraseAsked}`],
  ['what a page says', `The e-mail contains this instruction:\n\n${eraseAsked}`],
  ['what the user wrote', `The user wrote:\n\n${eraseAsked}`],
  ['what is not sure', `I'm not sure whether this is right:\n${eraseAsked}`],
  ['a negation in German', `Das führe ich nicht aus:\n${eraseAsked}`],
  ['a negation in Spanish', `No debo ejecutar esto:\n${eraseAsked}`],
  ['a negation in Chinese', `请不要执行：\n${eraseAsked}`],
  ['a negation in Japanese', `実行してはいけません：\n${eraseAsked}`],
  ['a question in German', `Soll ich das ausführen?\n${eraseAsked}`],
  ['a question in French', `Voulez-vous que j'exécute ceci ?\n${eraseAsked}`],
  ['a question behind it', `${eraseAsked}\n\nShall I proceed?`],
  ['an example, as is said behind it', `${eraseAsked}\n\nThis is only an example.`],
  ['what is not to be run, as is said behind it', `${erase}\n\nDo not execute this.`],
  ['what is not run, as is said behind it', `${fence(eraseAsked, 'json')}\n\nThe above is not executed because nobody has confirmed it.`],
  ['the response of a function', `<function_response>\n${eraseJson}\n</function_response>`],
  ['the results of functions', `<function_results>\n${eraseJson}\n</function_results>`],
  ['the result of a tool of Cohere', `<|START_TOOL_RESULT|>[${eraseJson}]<|END_TOOL_RESULT|>`],
  ['the offer of Mistral', `[AVAILABLE_TOOLS][${eraseJson}][/AVAILABLE_TOOLS]`],
  ['a reflection', `<reflection>${eraseJson}</reflection>`],
  ['an analysis', `<analysis>${eraseJson}</analysis>`],
  ['a scratchpad', `<scratchpad>${eraseJson}</scratchpad>`],
  ['a thought with a capital letter', `<Think>${eraseAsked}</Think>\n{"tool_calls": []}`],
  ['a thought in details', `<details type="reasoning"><summary>Thinking</summary>\n${eraseJson}\n</details>\nNo.`],
  ['two names', '{"name": "delete_file", "function": "search", "arguments": {"path": "/srv/data"}}'],
  ['a list and an explanation with an empty one', `[${written(weather)}]\n\nIf nothing is needed, the output is \`[]\`.`, [weather]],
  ['a list and a call behind it', `[${written(weather)}], ${written(hypot)}`, [weather]],
  ['a thought', `<think>${eraseAsked}</think>{"tool_calls": []}`],
  ['a thought that has not ended', `<think>${eraseAsked}`],
  ['a refusal in German', `Leider kann ich das nicht. Zum Beispiel so:\n${eraseAsked}`],
  ['a refusal in French', `Malheureusement, aucune fonction ne convient. Par exemple :\n${eraseAsked}`],
  ['a refusal in Spanish', `Lamentablemente no hay ninguna función adecuada. Un ejemplo:\n${eraseAsked}`],
  ['a refusal in Portuguese', `Infelizmente não posso fazer isso. Por exemplo:\n[${erase}]`],
  ['a refusal in Italian', `Purtroppo non è possibile. Ad esempio:\n[${erase}]`],
  ['a refusal in Dutch', `Helaas kan dat niet. Bijvoorbeeld:\n[${erase}]`],
  ['a refusal in Polish', `Niestety nie mogę tego zrobić. Na przykład:\n[${erase}]`],
  ['a refusal in Russian', `К сожалению, подходящей функции нет. Например:\n[${erase}]`],
  ['a refusal in Chinese', `抱歉，没有合适的函数。例如：\n${eraseAsked}`],
  ['a refusal in Japanese', `残念ながら適した関数はありません。例えば：\n${eraseAsked}`],
  ['a refusal in Korean', `죄송합니다. 적합한 함수가 없습니다. 예를 들어:\n${eraseAsked}`],
  ['a call that was cut', '{"tool_calls": [{"name": "delete_file", "parameters": {"path": "/srv'],
  ['a bare call that was cut', "delete_file(path='/srv"],
  ['the result of a tool', `<tool_response>${eraseJson}</tool_response>`],
  ['two sets of arguments', '{"name": "delete_file", "parameters": {"path": "a"}, "arguments": {"path": "b"}}'],
  ['positional arguments', "delete_file('/srv/data')"],
];

/** What must not run from the text of a native answer, where a reader is answered. */
const notNative: [name: string, text: string][] = [
  ['a Python example', `Here is how it is done:\n\n${fence(erase, 'python')}`],
  ['nothing but a Python example', fence(erase, 'python')],
  ['nothing but data in Python', fence(`[${eraseJson}]`, 'python')],
  ['a printed value of a result', fence(`print(${erase}["size"])`, 'tool_code')],
  ['a printed call', `print(${erase})`],
  ['a Python program', fence(`import tools\n\n${erase}\nprint("done")`, 'python')],
  ['a fence of JSON with words', `So:\n${fence(eraseJson, 'json')}\nThat is all.`],
  ['a bare call', erase],
  ['a bare call in prose', `You can call ${erase} for that.`],
  ['a list of strings', `["${erase}"]`],
  ['a name on a line before JSON', 'delete_file\n{"path": "/srv/data"}'],
  ['a name as a key', '{"delete_file": {"path": "/srv/data"}}'],
  ['JSON after words', `The call is ${eraseJson}`],
  ['JSON before words', `${eraseJson} would delete it.`],
  ['a list before words', `[${erase}] would delete it.`],
  ['a sum', '[math.hypot(x=4, y=5) + math.hypot(x=1, y=2)]'],
  ['a comprehension', `[${erase} for _ in range(3)]`],
  ['nested calls', '[get_weather(city=search(query="capital"))]'],
  ['a variable', '{"name": "delete_file", "arguments": {"path": path}}'],
  ['a placeholder', '{"name": "get_weather", "arguments": {"city": "<city>"}}'],
  ['an ellipsis', '{"name": "delete_file", "arguments": {"path": "..."}}'],
  ['a variable of a shell', '{"name": "delete_file", "arguments": {"path": "$path"}}'],
  ['the result of another call', '[delete_file(path="{search_result}")]'],
  ['two names', '{"name": "delete_file", "function": "search", "arguments": {"path": "/srv/data"}}'],
  ['another spelling of the name', '<tool_call>{"name": "deleteFile", "arguments": {"path": "a"}}</tool_call>'],
  ['marks in a fence', fence(`<tool_call>${eraseJson}</tool_call>`)],
  ['marks in code', `Write \`<tool_call>${eraseJson}</tool_call>\` for it.`],
  ['a thought', `<think><tool_call>${eraseJson}</tool_call></think>No.`],
  ['the result of a tool', `<tool_response><tool_call>${eraseJson}</tool_call></tool_response>`],
  ['a recipient in prose', 'to=functions.delete_file is a header of gpt-oss.'],
  ['a call that was cut', '<tool_call>{"name": "delete_file", "arguments": {"path": "/srv'],
  ['an expression between marks', '<|python_start|>[math.hypot(x=4, y=5) + math.hypot(x=1, y=2)]<|python_end|>'],
];

function wordsOf(path: ModelWords['path'], forms: Form[]): ModelWords[] {
  return forms.flatMap(([name, write, fits = () => true]) =>
    meant.filter(([, calls]) => fits(calls)).map(([what, calls]) => ({ id: `${path}: ${name}, ${what}`, path, text: write(calls), calls })),
  );
}

export const modelWords: ModelWords[] = [
  ...wordsOf('selection', [...markedForms, ...selectionForms]),
  ...wordsOf('native', markedForms),
  ...notInSelection.map(([name, source, calls = []]): ModelWords => ({
    id: `selection: not ${name}`,
    path: 'selection',
    text: source,
    calls,
  })),
  ...notNative.map(([name, source]): ModelWords => ({ id: `native: not ${name}`, path: 'native', text: source, calls: [] })),
];
