import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { connectPrograms } from '../../src/console/pages/connect/programs.ts';

const hostile = { address: 'http://127.0.0.1:8080', key: `sk-tw-a'b"c`, model: `it's "quoted": $(x)` };

function codeOf(title: string, language: string, connection = hostile): string {
  const examples = connectPrograms(connection).find((program) => program.title === title)?.examples ?? [];
  return examples.find((example) => example.language === language)?.code ?? '';
}

describe('examples for programs', () => {
  it('quote keys and models for the format that they are in', () => {
    expect(parse(codeOf('LibreChat', 'yaml'))).toMatchObject({
      endpoints: { custom: [{ apiKey: hostile.key, baseURL: 'http://127.0.0.1:8080/v1', models: { default: [hostile.model] } }] },
    });
    expect(codeOf('Claude Code', 'sh')).toContain(`claude --model 'it'\\''s "quoted": $(x)'`);
    expect(JSON.parse(codeOf('MCP', 'json'))).toMatchObject({
      mcpServers: { toolwharf: { headers: { Authorization: `Bearer ${hostile.key}` } } },
    });
  });

  it('name the address for containers only if the gateway is reached at a loopback address', () => {
    const textOf = (address: string): string => JSON.stringify(connectPrograms({ ...hostile, address }));
    expect(textOf('http://localhost:8080')).toContain('http://host.docker.internal:8080/v1');
    expect(textOf('https://tools.example')).not.toContain('host.docker.internal');
  });
});
