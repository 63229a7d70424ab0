/** What the examples are filled with. */
export interface Connection {
  /** The gateway's address as this browser reaches it, without a slash at its end. */
  address: string;
  key: string;
  model: string;
}

export interface Example {
  /** Above the code. Text in backticks is code. */
  text: string;
  /** Absent: `text` is all. */
  code?: string;
  /** Absent: a single value to enter. */
  language?: string;
}

export interface Program {
  title: string;
  examples: readonly Example[];
}

/** How each program is connected, with examples that work as they are. */
export function connectPrograms({ address, key, model }: Connection): Program[] {
  const openAiUrl = `${address}/v1`;
  return [
    {
      title: 'Open WebUI',
      examples: [
        { text: 'In Admin Settings, under Connections, add an OpenAI API connection. Its URL:', code: openAiUrl },
        { text: 'Its key:', code: key },
        ...fromContainers(address, '/v1'),
      ],
    },
    {
      title: 'LibreChat',
      examples: [
        {
          text: 'In `librechat.yaml`:',
          language: 'yaml',
          code: `endpoints:
  custom:
    - name: toolwharf
      apiKey: ${quoted(key)}
      baseURL: ${quoted(openAiUrl)}
      models:
        default: [${quoted(model)}]
        fetch: true
      titleConvo: true
      titleModel: ${quoted(model)}`,
        },
        ...fromContainers(address, '/v1'),
      ],
    },
    {
      title: 'Claude Code',
      examples: [
        {
          text: 'In a terminal. The address has no `/v1`.',
          language: 'sh',
          code: `export ANTHROPIC_BASE_URL=${forShell(address)}
export ANTHROPIC_API_KEY=${forShell(key)}
claude --model ${forShell(model)}`,
        },
      ],
    },
    {
      title: 'Codex',
      examples: [
        {
          text: 'In `~/.codex/config.toml`:',
          language: 'toml',
          code: `model = ${quoted(model)}
model_provider = "toolwharf"

[model_providers.toolwharf]
name = "toolwharf"
base_url = ${quoted(openAiUrl)}
wire_api = "responses"
env_key = "TOOLWHARF_KEY"`,
        },
        { text: 'Then, in a terminal:', language: 'sh', code: `export TOOLWHARF_KEY=${forShell(key)}\ncodex` },
      ],
    },
    {
      title: 'OpenAI SDK',
      examples: [
        {
          text: 'JavaScript, after `npm install openai`:',
          language: 'js',
          code: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: ${quoted(openAiUrl)}, apiKey: ${quoted(key)} });
const completion = await client.chat.completions.create({
  model: ${quoted(model)},
  messages: [{ role: 'user', content: 'What can you do for me?' }],
});
console.log(completion.choices[0].message.content);`,
        },
        {
          text: 'Python, after `pip install openai`:',
          language: 'python',
          code: `from openai import OpenAI

client = OpenAI(base_url=${quoted(openAiUrl)}, api_key=${quoted(key)})
completion = client.chat.completions.create(
    model=${quoted(model)},
    messages=[{"role": "user", "content": "What can you do for me?"}],
)
print(completion.choices[0].message.content)`,
        },
      ],
    },
    {
      title: 'Anthropic SDK',
      examples: [
        {
          text: 'JavaScript, after `npm install @anthropic-ai/sdk`. The address has no `/v1`.',
          language: 'js',
          code: `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: ${quoted(address)}, apiKey: ${quoted(key)} });
const message = await client.messages.create({
  model: ${quoted(model)},
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'What can you do for me?' }],
});
console.log(message.content);`,
        },
        {
          text: 'Python, after `pip install anthropic`:',
          language: 'python',
          code: `from anthropic import Anthropic

client = Anthropic(base_url=${quoted(address)}, api_key=${quoted(key)})
message = client.messages.create(
    model=${quoted(model)},
    max_tokens=1024,
    messages=[{"role": "user", "content": "What can you do for me?"}],
)
print(message.content)`,
        },
      ],
    },
    {
      title: 'Ollama programs',
      examples: [
        { text: 'Enter this address instead of Ollama’s:', code: address },
        { text: 'If the program can send headers, add this one:', code: `authorization: Bearer ${key}` },
        {
          text: 'Python, after `pip install ollama`:',
          language: 'python',
          code: `from ollama import Client

client = Client(host=${quoted(address)}, headers={"authorization": ${quoted(`Bearer ${key}`)}})
answer = client.chat(model=${quoted(model)}, messages=[{"role": "user", "content": "What can you do for me?"}])
print(answer.message.content)`,
        },
        ...fromContainers(address, ''),
      ],
    },
    {
      title: 'MCP',
      examples: [
        {
          text: 'In the configuration of an MCP client, such as Cursor’s `mcp.json`. It gets the tools, without a model.',
          language: 'json',
          code: JSON.stringify(
            { mcpServers: { toolwharf: { type: 'http', url: `${address}/mcp`, headers: { Authorization: `Bearer ${key}` } } } },
            null,
            2,
          ),
        },
        {
          text: 'Claude Code, in a terminal:',
          language: 'sh',
          code: `claude mcp add --transport http toolwharf ${forShell(`${address}/mcp`)} --header ${forShell(`Authorization: Bearer ${key}`)}`,
        },
      ],
    },
    {
      title: 'curl',
      examples: [
        {
          text: 'A question, and its answer:',
          language: 'sh',
          code: `curl ${forShell(`${openAiUrl}/chat/completions`)} \\
  -H ${forShell(`Authorization: Bearer ${key}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${forShell(JSON.stringify({ model, messages: [{ role: 'user', content: 'What can you do for me?' }] }))}`,
        },
      ],
    },
  ];
}

/** A text in double quotes, as JSON, JavaScript, Python, TOML and YAML all read it. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

function forShell(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Within a container, `localhost` is the container. */
function fromContainers(address: string, path: string): Example[] {
  const url = new URL(address);
  if (!/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) return [];
  url.hostname = 'host.docker.internal';
  return [
    {
      text: 'If the program runs in Docker on this machine, use this URL. The gateway then needs keys, and the setting `HOST=0.0.0.0`.',
      code: url.origin + path,
    },
  ];
}
