import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { describeError } from '../../../src/observability/remove-secrets.ts';
import { withoutExcerpt } from '../../../src/shared/json/without-excerpt.ts';
import { explainMcpFailure } from '../../../src/tools/mcp/explain-mcp-failure.ts';

const key = 'canary-4f9a8b7c6d5e';
const texts = [
  key,
  `{"a": ${key}`,
  `{"said": "${key}"\n x`,
  `${'x'.repeat(50)} "${key}"`,
  `{"a": "b"} is not valid JSON ${key}`,
  `[1, "${key}\n"]`,
];

function faultOf(text: string): Error {
  try {
    JSON.parse(text);
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('the text can be read');
}

describe('a message of JSON.parse', () => {
  it.each(texts)('says nothing of %j', (text) => {
    expect(withoutExcerpt(faultOf(text).message)).not.toMatch(/can|"/);
  });

  it('is as it was where it quotes nothing', () => {
    expect(withoutExcerpt('Unexpected end of JSON input')).toBe('Unexpected end of JSON input');
  });

  it('says nothing of an answer in the log, nor of an MCP server in its report', () => {
    const error = faultOf(`{"a": ${key}`);
    const logged = [error, new GatewayError('upstream_invalid_response', 'no JSON', { cause: error })].map((each) => describeError(each));
    expect(JSON.stringify(logged)).toContain('Unexpected token');
    expect(JSON.stringify([logged, explainMcpFailure(error)])).not.toContain('canar');
  });
});
