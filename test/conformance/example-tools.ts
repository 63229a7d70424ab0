import { acceptedContent, inputRequired, MissingRequiredClientCapabilityError } from '@modelcontextprotocol/server';
import type {
  CallToolResult,
  ClientCapabilities,
  ContentBlock,
  ElicitRequestFormParams,
  GetPromptResult,
  InputRequiredResult,
  InputRequests,
  ServerContext,
  Tool,
} from '@modelcontextprotocol/server';
import { setTimeout as wait } from 'node:timers/promises';

/** A red pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

type Answer = CallToolResult | InputRequiredResult;
type Call = (args: Record<string, unknown>, context: ServerContext, client: ClientCapabilities | undefined) => Answer | Promise<Answer>;
interface ExampleTool {
  inputSchema?: Tool['inputSchema'];
  call: Call;
}

const text = (value: string): ContentBlock => ({ type: 'text', text: value });
const done = (...content: ContentBlock[]): CallToolResult => ({ content });
const image: ContentBlock = { type: 'image', data: png, mimeType: 'image/png' };
const textProperty = (name: string): Tool['inputSchema'] => ({
  type: 'object',
  properties: { [name]: { type: 'string' } },
  required: [name],
});

type Form = ElicitRequestFormParams['requestedSchema'];

const form = (message: string, properties: Form['properties'], required = Object.keys(properties)): InputRequests[string] =>
  inputRequired.elicit({ message, requestedSchema: { type: 'object', properties, required } });
const sampling = (prompt: string): InputRequests[string] =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 });

/** Asks with a form, and says what came back. */
const asks =
  (key: string, question: (args: Record<string, unknown>) => InputRequests[string]): Call =>
  (args, { mcpReq }) => {
    const answer = mcpReq.inputResponses?.[key];
    return answer === undefined
      ? inputRequired({ inputRequests: { [key]: question(args) } })
      : done(text(`Elicitation completed: ${JSON.stringify(answer)}`));
  };

const namedForm = form('What is your name?', { name: { type: 'string' } });
const confirmForm = form('Please confirm', { ok: { type: 'boolean' } });

/** Asks in one round, with a state of its own. */
const asksWithState =
  (inputRequests: InputRequests): Call =>
  (_args, { mcpReq }) => {
    const state = mcpReq.requestState();
    if (state === undefined) return inputRequired({ inputRequests, requestState: 'state-of-the-example' });
    return done(text(state === 'state-of-the-example' ? 'state-ok' : 'another state'));
  };

const multiRound: Call = (_args, { mcpReq }) => {
  const state = mcpReq.requestState();
  if (state === 'round-2') return done(text('Both answers are there.'));
  const step = state === undefined ? 1 : 2;
  return inputRequired({ inputRequests: { [`step${step}`]: namedForm }, requestState: `round-${step}` });
};

const progress: Call = async (_args, { mcpReq }) => {
  const progressToken = mcpReq._meta?.progressToken;
  for (const done_ of [0, 50, 100]) {
    if (progressToken !== undefined)
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: done_, total: 100 } });
    await wait(1);
  }
  return done(text('Progress was reported.'));
};

const logs: Call = async (_args, { mcpReq }) => {
  for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    await mcpReq.log('info', message);
    await wait(1);
  }
  return done(text('Messages were logged.'));
};

const capabilities: Call = (_args, _context, client) => {
  const inputRequests = {
    ...(client?.sampling !== undefined && { question: sampling('What is the capital of France?') }),
    ...(client?.elicitation !== undefined && { name: namedForm }),
  };
  return Object.keys(inputRequests).length === 0 ? done(text('Nobody can be asked.')) : inputRequired({ inputRequests });
};

/** What a schema of draft 2020-12 can say. */
const richSchema: Tool['inputSchema'] = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

const options = ['option1', 'option2', 'option3'];
const titled = ['value1', 'value2', 'value3'].map((value, index) => ({ const: value, title: `Option ${index + 1}` }));
const enums: Form['properties'] = {
  untitledSingle: { type: 'string', enum: options },
  titledSingle: { type: 'string', oneOf: titled },
  legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
  titledMulti: { type: 'array', items: { anyOf: titled } },
};
const defaults: Form['properties'] = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};

export const noInput: Tool['inputSchema'] = { type: 'object', properties: {} };

/** The tools that the scenarios name, each as its scenario describes it. */
export const tools: Readonly<Record<string, ExampleTool>> = {
  test_simple_text: { call: () => done(text('This is a simple text response for testing.')) },
  test_image_content: { call: () => done(image) },
  test_audio_content: { call: () => done({ type: 'audio', data: wav, mimeType: 'audio/wav' }) },
  test_embedded_resource: { call: () => done(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')) },
  test_multiple_content_types: {
    call: () =>
      done(
        text('Multiple content types test:'),
        image,
        embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ),
  },
  test_tool_with_logging: { call: logs },
  test_logging_tool: { call: logs },
  test_tool_with_progress: { call: progress },
  test_error_handling: { call: () => ({ isError: true, content: [text('This tool intentionally returns an error for testing')] }) },
  test_sampling: { inputSchema: textProperty('prompt'), call: asks('answer', ({ prompt }) => sampling(String(prompt))) },
  test_elicitation: {
    inputSchema: textProperty('message'),
    call: asks('user', ({ message }) => form(String(message), { username: { type: 'string' }, email: { type: 'string' } })),
  },
  test_elicitation_sep1034_defaults: { call: asks('defaults', () => form('Please review', defaults, [])) },
  test_elicitation_sep1330_enums: { call: asks('enums', () => form('Please choose', enums, [])) },
  json_schema_2020_12_tool: { inputSchema: richSchema, call: () => done(text('The schema was met.')) },
  test_reconnection: { call: () => done(text('The stream was resumed.')) },
  test_input_required_result_elicitation: {
    call(_args, { mcpReq }) {
      const answer = acceptedContent(mcpReq.inputResponses, 'user_name');
      return answer === undefined
        ? inputRequired({ inputRequests: { user_name: namedForm } })
        : done(text(`Hello, ${String(answer['name'])}!`));
    },
  },
  test_input_required_result_sampling: { call: asks('capital_question', () => sampling('What is the capital of France?')) },
  test_input_required_result_list_roots: { call: asks('client_roots', () => inputRequired.listRoots()) },
  test_input_required_result_request_state: { call: asksWithState({ confirm: confirmForm }) },
  test_input_required_result_tampered_state: { call: asksWithState({ confirm: confirmForm }) },
  test_input_required_result_multiple_inputs: {
    call: asksWithState({ user_name: namedForm, greeting: sampling('Generate a greeting'), client_roots: inputRequired.listRoots() }),
  },
  test_input_required_result_multi_round: { call: multiRound },
  test_input_required_result_capabilities: { call: capabilities },
  test_streaming_elicitation: { call: asks('name', () => namedForm) },
  test_missing_capability: {
    call() {
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
    },
  },
  test_x_mcp_header: {
    inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } }, required: ['region'] },
    call: ({ region }) => done(text(`In ${String(region)}.`)),
  },
};

function embedded(uri: string, mimeType: string, value: string): ContentBlock {
  return { type: 'resource', resource: { uri, mimeType, text: value } };
}

type Prompt = (args: Record<string, string>, context: ServerContext) => GetPromptResult | InputRequiredResult;
const says = (...contents: ContentBlock[]): GetPromptResult => ({ messages: contents.map((content) => ({ role: 'user', content })) });

export const prompts: Readonly<Record<string, { args: string[]; get: Prompt }>> = {
  test_simple_prompt: { args: [], get: () => says(text('This is a simple prompt for testing.')) },
  test_prompt_with_arguments: {
    args: ['arg1', 'arg2'],
    get: ({ arg1, arg2 }) => says(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  test_prompt_with_embedded_resource: {
    args: ['resourceUri'],
    get: ({ resourceUri = '' }) =>
      says(
        embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ),
  },
  test_prompt_with_image: { args: [], get: () => says(image, text('Please analyze the image above.')) },
  test_input_required_result_prompt: {
    args: [],
    get(_args, { mcpReq }) {
      const answer = acceptedContent(mcpReq.inputResponses, 'user_context');
      return answer === undefined
        ? inputRequired({ inputRequests: { user_context: form('What context should the prompt use?', { context: { type: 'string' } }) } })
        : says(text(`In the context ${String(answer['context'])}.`));
    },
  },
};

export const resources = [
  { uri: 'test://static-text', name: 'static-text', mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  { uri: 'test://static-binary', name: 'static-binary', mimeType: 'image/png', blob: png },
  { uri: 'test://watched-resource', name: 'watched-resource', mimeType: 'text/plain', text: 'This one changes at times.' },
];
