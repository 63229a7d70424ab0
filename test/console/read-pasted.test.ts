import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/app/config/config.ts';
import { toConfigLines, variablesIn } from '../../src/console/pages/tool-servers/add/command-lines.ts';
import { readPasted } from '../../src/console/pages/tool-servers/add/read-pasted.ts';
import type { CommandServer, PastedServer } from '../../src/console/pages/tool-servers/add/pasted-server.ts';

function serversIn(text: string): readonly PastedServer[] {
  const pasted = readPasted(text);
  return pasted.kind === 'servers' ? pasted.servers : [];
}

const files = ['-y', '@modelcontextprotocol/server-filesystem', '/srv/my files'];
const filesystem = { kind: 'command', id: 'filesystem', command: 'npx', args: files, env: {} };

describe('what is pasted', () => {
  it.each([
    ['http://127.0.0.1:8000', [{ kind: 'remote', url: 'http://127.0.0.1:8000', headers: {} }]],
    ['"http://127.0.0.1:8000",', [{ kind: 'remote', url: 'http://127.0.0.1:8000', headers: {} }]],
    ['tools.example/mcp', [{ kind: 'remote', url: 'http://tools.example/mcp', headers: {} }]],
    [`npx -y @modelcontextprotocol/server-filesystem '/srv/my files'`, [filesystem]],
    ['$ npx -y \\\n  @modelcontextprotocol/server-filesystem "/srv/my files"', [filesystem]],
    [
      'uvx mcp-server-git --repository .',
      [{ kind: 'command', id: 'git', command: 'uvx', args: ['mcp-server-git', '--repository', '.'], env: {} }],
    ],
    [
      'TOKEN="a b" uvx --from git+https://x.example/y weather-mcp@1.2',
      [
        {
          kind: 'command',
          id: 'weather',
          command: 'uvx',
          args: ['--from', 'git+https://x.example/y', 'weather-mcp@1.2'],
          env: { TOKEN: 'a b' },
        },
      ],
    ],
    [
      'docker run --rm -e KEY=1 mcp/time:2',
      [{ kind: 'command', id: 'time', command: 'docker', args: ['run', '-i', '--rm', '-e', 'KEY=1', 'mcp/time:2'], env: {} }],
    ],
    ['docker run -i --rm mcp/time', [{ kind: 'command', id: 'time', command: 'docker', args: ['run', '-i', '--rm', 'mcp/time'], env: {} }]],
    ['/opt/tools/weather.py --fast', [{ kind: 'command', id: 'weather', command: '/opt/tools/weather.py', args: ['--fast'], env: {} }]],
    [
      'npx -y mcp-remote https://mcp.example/sse --header "Authorization: Bearer k1"',
      [{ kind: 'remote', url: 'https://mcp.example/sse', headers: {}, key: 'k1' }],
    ],
  ])('%s', (text, servers) => expect(serversIn(text)).toEqual(servers));

  it.each([
    ['Claude, Cursor', { mcpServers: { files: { command: 'npx', args: files } } }],
    ['VS Code', { servers: { files: { type: 'stdio', command: 'npx', args: files } }, inputs: [] }],
    ['VS Code’s settings', { mcp: { servers: { files: { command: 'npx', args: files } } } }],
    ['only the servers', { files: { command: 'npx', args: files } }],
  ])('a configuration of %s', (_, value) => expect(serversIn(JSON.stringify(value))).toEqual([{ ...filesystem, id: 'files' }]));

  it('a configuration with remote servers, and their headers', () => {
    const servers = {
      'My GitHub': { type: 'http', url: 'https://mcp.example/mcp', headers: { Authorization: 'Bearer k1', 'X-Team': 'a' } },
      asks: { url: 'https://asks.example/sse', headers: { Authorization: 'Bearer ${input:token}' } },
      windsurf: { serverUrl: 'https://surf.example/mcp' },
      gemini: { httpUrl: 'https://gem.example/mcp' },
      bridge: { command: 'npx', args: ['-y', 'mcp-remote', 'https://bridge.example/mcp'] },
    };
    expect(serversIn(JSON.stringify({ mcpServers: servers }))).toEqual([
      { kind: 'remote', id: 'My-GitHub', url: 'https://mcp.example/mcp', headers: { 'X-Team': 'a' }, key: 'k1' },
      { kind: 'remote', id: 'asks', url: 'https://asks.example/sse', headers: {} },
      { kind: 'remote', id: 'windsurf', url: 'https://surf.example/mcp', headers: {} },
      { kind: 'remote', id: 'gemini', url: 'https://gem.example/mcp', headers: {} },
      { kind: 'remote', id: 'bridge', url: 'https://bridge.example/mcp', headers: {} },
    ]);
  });

  it('JSON with comments, trailing commas, or without its outer braces', () => {
    const text = `{
      // The files. "url": "http://not.here"
      "mcpServers": { "files": { "command": "npx", /* why */ "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/my files",], }, },
    }`;
    expect(serversIn(text)).toEqual([{ ...filesystem, id: 'files' }]);
    expect(serversIn('"files": {"url": "http://files.example//mcp"},')).toEqual([
      { kind: 'remote', id: 'files', url: 'http://files.example//mcp', headers: {} },
    ]);
  });

  it.each([
    ['ftp://example.com', 'Enter an http:// or https:// URL'],
    ['my server', 'Enter an http:// or https:// URL'],
    ['{"mcpServers": {', 'syntax error'],
    ['{"mcpServers": {"a": {"args": []}}}', 'No MCP server was found'],
    ['{"openapi": "3.1.0", "paths": {}}', 'This is an OpenAPI document'],
    [`{"a": "${'x'.repeat(300_000)}"}`, 'too long'],
  ])('says what is wrong with %.40s', (text, reason) => {
    expect(readPasted(text)).toEqual({ kind: 'unreadable', reason: expect.stringContaining(reason) });
  });

  it('is read in a time that does not explode', () => {
    for (const text of [
      `{${'/*'.repeat(50_000)}`,
      `npx ${'\\'.repeat(50_000)}`,
      `npx ${`"'`.repeat(25_000)}`,
      `{"a":${',}'.repeat(50_000)}`,
    ])
      expect(readPasted(text).kind).not.toBe('nothing');
  });
});

describe('the lines for toolwharf.yaml', () => {
  it('start the same command with the same arguments and environment', () => {
    const servers = [
      ...serversIn(`npx -y @modelcontextprotocol/server-filesystem "/srv/my files" yes 12 ~/x '#a: b' '\${HOME' 'ü"'`),
      ...serversIn(
        '{"gh": {"command": "docker", "args": ["run", "-i", "-e", "T", "ghcr.io/a/b"], "env": {"T": "${input:git-token}", "ON": "off"}, "cwd": "/srv"}}',
      ),
    ] as CommandServer[];
    const text = toConfigLines(servers);
    const environment = { GIT_TOKEN: 'secret', HOME: '/home/ada' };
    const { toolServers } = readConfig(environment, (path) => (path.endsWith('.yaml') ? text : undefined));
    expect(toolServers).toMatchObject([
      {
        id: 'filesystem',
        process: {
          command: 'npx',
          args: ['-y', '@modelcontextprotocol/server-filesystem', '/srv/my files', 'yes', '12', '/home/ada/x', '#a: b', '${HOME', 'ü"'],
        },
      },
      { id: 'gh', process: { command: 'docker', environment: { T: 'secret', ON: 'off' }, cwd: '/srv' } },
    ]);
    expect(variablesIn(servers)).toEqual(['HOME', 'GIT_TOKEN']);
  });
});
