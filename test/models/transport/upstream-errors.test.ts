import { describe, expect, it } from 'vitest';
import { GatewayError, OutboundError } from '../../../src/core/errors.ts';
import type { OutboundFailure } from '../../../src/core/errors.ts';
import { limits } from '../../../src/core/limits.ts';
import type { OutboundResponse } from '../../../src/core/outbound.ts';
import { readErrorResponse, isToolsUnsupported, toReportedError, toUpstreamError } from '../../../src/models/transport/upstream-errors.ts';
import { createSecretMask } from '../../../src/shared/secrets/secret-mask.ts';
import { outboundBody } from '../../_support/outbound-body.ts';

const json = 'application/json';
const noSecrets = createSecretMask([]);
const html = '<html><body><h1>502 Bad Gateway</h1>internal-host-7</body></html>';

function answer(status: number, body: unknown, headers: Record<string, string> = {}): OutboundResponse {
  async function* once(): AsyncGenerator<Uint8Array, void, undefined> {
    yield await Promise.resolve(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
  }
  return { status, headers: { 'content-type': json, ...headers }, body: outboundBody(once()) };
}

describe('toUpstreamError', () => {
  it.each<[OutboundFailure, string, number]>([
    ['unreachable', 'upstream_unreachable', 502],
    ['no_files', 'upstream_unreachable', 502],
    ['timeout', 'upstream_timeout', 504],
    ['cut', 'upstream_incomplete', 502],
    ['redirected', 'upstream_invalid_response', 502],
    ['denied', 'upstream_unreachable', 502],
    ['invalid_request', 'upstream_unreachable', 502],
  ])('turns %s into %s, without the address', (failure, code, status) => {
    const fault = toUpstreamError(new OutboundError(failure, 'http://10.0.0.7:9999/v1 failed'), 'lab');
    expect(fault).toMatchObject({ code, status });
    expect(fault.message).toContain('"lab"');
    expect(fault.message).not.toContain('10.0.0.7');
  });

  it('says that the gateway is at its limit of open files, and not that the backend is down', () => {
    const { message } = toUpstreamError(new OutboundError('no_files', 'x'), 'lab');
    expect(message).toContain('ulimit -n');
    expect(message).not.toContain('Check that it runs');
  });

  it('takes a cut before the headers for a backend that is not there', () => {
    expect(toUpstreamError(new OutboundError('cut', 'x'), 'lab', 'request').code).toBe('upstream_unreachable');
  });

  it('leaves our own errors as they are, and hides what others say', () => {
    const own = new GatewayError('tools_unsupported', 'no');
    expect(toUpstreamError(own, 'lab')).toBe(own);
    expect(toUpstreamError(new TypeError('secret detail'), 'lab').message).toBe('The model backend "lab" failed.');
  });
});

describe('readErrorResponse', () => {
  const kept = 'The words of the backend';
  it.each<[string, OutboundResponse, Partial<GatewayError>]>([
    [
      "OpenAI's error",
      answer(400, { error: { message: kept, type: 'invalid_request_error', param: 'top_p', code: null } }),
      { code: 'upstream_rejected', status: 400, message: kept, param: 'top_p' },
    ],
    [
      "Gemini's array",
      answer(404, [{ error: { code: 404, message: kept, status: 'NOT_FOUND' } }]),
      { code: 'upstream_rejected', status: 404, message: kept },
    ],
    ["Ollama's string", answer(404, { error: kept }), { code: 'upstream_rejected', status: 404, message: kept }],
    [
      "vLLM's object",
      answer(400, { object: 'error', message: kept, code: 400 }),
      { code: 'upstream_rejected', status: 400, message: kept },
    ],
    [
      "FastAPI's detail",
      answer(422, { detail: [{ loc: ['body', 'top_p'], msg: 'too large' }] }),
      { status: 422, message: 'body.top_p: too large' },
    ],
    [
      "Mistral's nested detail",
      answer(422, { object: 'error', message: { detail: [{ loc: ['body', 'n'], msg: 'no' }] } }),
      { status: 422, message: 'body.n: no' },
    ],
    [
      "OpenRouter's provider",
      answer(400, { error: { message: 'Provider returned error', metadata: { raw: kept } } }),
      { message: `Provider returned error: ${kept}` },
    ],
    ['plain text', answer(413, `${kept}\n`, { 'content-type': 'text/plain' }), { code: 'upstream_rejected', status: 413, message: kept }],
    [
      'HTML',
      answer(404, html, { 'content-type': 'text/html' }),
      { code: 'upstream_rejected', status: 404, message: 'The model backend "lab" refused the request (HTTP 404).' },
    ],
    ['HTML that claims to be JSON', answer(404, html), { message: 'The model backend "lab" refused the request (HTTP 404).' }],
    ['nothing', answer(400, ''), { status: 400, message: 'The model backend "lab" refused the request (HTTP 400).' }],
    [
      'a rate limit',
      answer(429, { error: { message: kept } }, { 'retry-after': '7' }),
      { code: 'upstream_rate_limited', status: 429, message: kept, retryAfter: '7', type: 'rate_limit_error' },
    ],
    [
      'a date to retry after',
      answer(429, '', { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }),
      { retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT' },
    ],
    ['no usable time to retry after', answer(429, '', { 'retry-after': 'soon\r\nx: y' }), { status: 429, retryAfter: undefined }],
    [
      'a server error in JSON',
      answer(503, { error: { message: kept } }, { 'retry-after': '3' }),
      { code: 'upstream_error', status: 503, message: kept, retryAfter: '3' },
    ],
    [
      'a server error in HTML',
      answer(503, html, { 'content-type': 'text/html' }),
      { code: 'upstream_error', status: 502, message: 'The model backend "lab" failed (HTTP 503).' },
    ],
    [
      'a server error in text',
      answer(500, 'Internal Server Error', { 'content-type': 'text/plain' }),
      { code: 'upstream_error', status: 502, message: 'The model backend "lab" failed (HTTP 500).' },
    ],
    ['a status beyond all errors', answer(600, { error: { message: kept } }), { code: 'upstream_error', status: 502, message: kept }],
    ['a status beyond all errors, without words', answer(999, ''), { status: 502, message: 'The model backend "lab" failed (HTTP 999).' }],
    ['the last status of an error', answer(599, { error: { message: kept } }), { code: 'upstream_error', status: 599, message: kept }],
    ['a server error without words', answer(500, {}), { code: 'upstream_error', status: 502 }],
    ['no tools', answer(400, { error: 'gemma does not support tools' }), { code: 'tools_unsupported', status: 400 }],
    [
      'no tools as a server error',
      answer(500, { error: { code: 500, message: 'tools param requires --jinja flag' } }),
      { code: 'tools_unsupported', status: 400 },
    ],
  ])('understands %s', async (_, response, expected) => {
    expect(await readErrorResponse(response, 'lab', noSecrets)).toMatchObject(expected);
  });

  it.each([401, 403])("makes the backend's %i ours, without its words", async (status) => {
    const fault = await readErrorResponse(
      answer(status, { error: { message: 'Incorrect API key provided: sk-12**89' } }),
      'lab',
      noSecrets,
    );
    expect(fault).toMatchObject({ code: 'upstream_auth_failed', status: 502 });
    expect(fault.message).not.toContain('sk-12');
  });

  it('masks secrets, and cuts messages that are too long', async () => {
    const fault = await readErrorResponse(
      answer(400, { error: { message: `key sk-secret-1 in ${'x'.repeat(9_000)}` } }),
      'lab',
      createSecretMask(['sk-secret-1', '']),
    );
    expect(fault.message).toMatch(/^key \[secret\] in x+…$/);
    expect(fault.message.length).toBeLessThan(2_100);
  });

  it('masks secrets in the name of a parameter and in the time to wait too', async () => {
    const said = answer(400, { error: { message: 'bad', param: 'tools.sk_secret_1' } }, { 'retry-after': 'sk_secret_1' });
    const fault = await readErrorResponse(said, 'lab', createSecretMask(['Bearer sk_secret_1']));
    expect(fault).toMatchObject({ param: 'tools.[secret]' });
    expect(JSON.stringify(fault)).not.toContain('sk_secret_1');
  });

  it('reads no more of an error page than it may', async () => {
    let given = 0;
    async function* endless(): AsyncGenerator<Uint8Array, void, undefined> {
      while (given < 1_000_000) yield await Promise.resolve(Buffer.alloc((given += 1000) && 1000, 'x'));
    }
    const fault = await readErrorResponse({ status: 500, headers: {}, body: outboundBody(endless()) }, 'lab', noSecrets);
    expect(fault.code).toBe('upstream_error');
    expect(given).toBeLessThan(limits.upstreamErrorBytes + 2_000);
  });

  it('keeps the status of an error page that breaks off', async () => {
    async function* broken(): AsyncGenerator<Uint8Array, void, undefined> {
      yield await Promise.resolve(Buffer.from('{"error'));
      throw new OutboundError('cut', 'x');
    }
    expect(await readErrorResponse({ status: 429, headers: {}, body: outboundBody(broken()) }, 'lab', noSecrets)).toMatchObject({
      status: 429,
    });
  });
});

describe('a conversation that is too long for the model', () => {
  it.each([
    [400, { code: 'context_length_exceeded', message: 'm' }],
    [400, { type: 'exceed_context_size_error', code: 400, message: 'm' }],
    [400, { message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens." }],
    [400, { message: 'Your input exceeds the context window of this model. Please adjust your input and try again.' }],
    [400, { message: 'the request exceeds the available context size, try increasing it' }],
    [400, { message: 'request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it' }],
    [400, { message: 'the input length exceeds the context length' }],
    [400, { message: "The input (5000 tokens) is longer than the model's context length (4096 tokens)." }],
    [400, { message: 'prompt is too long: 205000 tokens > 200000 maximum' }],
    [400, { message: 'Input is too long for requested model.' }],
    [400, { message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).' }],
    [413, { message: "This endpoint's maximum context length is 4096 tokens." }],
  ])('is known whatever the backend calls it: %i %j', async (status, error) => {
    expect(await readErrorResponse(answer(status, { error }), 'lab', noSecrets)).toMatchObject({
      code: 'context_length_exceeded',
      status,
      message: error.message,
    });
  });

  it.each([
    [400, { message: 'max_tokens is too large: 9000' }],
    [400, { message: 'Unknown parameter: context_length' }],
    [413, { message: 'The body is too large.' }],
  ])('is not every refusal: %i %j', async (status, error) => {
    expect(await readErrorResponse(answer(status, { error }), 'lab', noSecrets)).toMatchObject({ code: 'upstream_rejected' });
  });
});

describe('toReportedError', () => {
  it.each([
    [{ error: { message: 'm', code: 429 } }, 'upstream_rate_limited', 429],
    [{ error: { message: 'm', type: 'rate_limit_exceeded' } }, 'upstream_rate_limited', 429],
    [{ error: { message: 'm', code: 'context_length_exceeded' } }, 'context_length_exceeded', 400],
    [{ error: { message: 'm', code: '404' } }, 'upstream_rejected', 404],
    [{ error: { message: 'm', code: 401 } }, 'upstream_auth_failed', 502],
    [{ error: { message: 'm', code: 503 } }, 'upstream_error', 503],
    [{ error: { message: 'm', code: 'server_error' } }, 'upstream_error', 502],
    [{ error: 'm' }, 'upstream_error', 502],
    [{ error: 'm does not support tools' }, 'tools_unsupported', 400],
    [{ object: 'error', message: 'm', code: 40001 }, 'upstream_error', 502],
    ['overloaded', 'upstream_error', 502],
    [null, 'upstream_error', 502],
  ])('turns %j into %s', (payload, code, status) => {
    expect(toReportedError(payload, 'lab', noSecrets)).toMatchObject({ code, status });
  });
});

describe('isToolsUnsupported', () => {
  it.each([
    'registry.ollama.ai/library/gemma:2b does not support tools',
    'deepseek-reasoner does not support Function Calling',
    "This model doesn't support tool use.",
    'This model doesn’t support tool use in streaming mode.',
    'tools is not supported in this model. For a list of supported models, refer to the documentation.',
    'Functions are not supported for this API version or this model version.',
    'deepinfra error: Tool calling is not supported for model: mistralai/Mistral-Small-24B-Instruct-2501',
    '`tool calling` is not supported with this model',
    'Function calling is not enabled for this model',
    'Function calling is not enabled for models/gemma-3-27b-it',
    'Tool use with function calling is unsupported',
    '<400> InternalError.Algo.InvalidParameter: The tool call is not supported.',
    'Unsupported param: tools',
    "Unsupported parameter: 'tools' is not supported with this model.",
    'tools param requires --jinja flag',
    'Tool use has not been enabled, because it is unsupported by meta/llama-3.2-1b-instruct.',
    'tools param is not fully supported yet',
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    'No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs',
  ])('understands %j', (message) => {
    expect(isToolsUnsupported(message)).toBe(true);
  });

  it.each([
    '',
    "Invalid schema for function 'get_time': 'type' is required",
    'tools[0].function.name: is not supported',
    'This model does not support parallel tool calls',
    'Parallel tool calls are not supported',
    'This model does not support tool_choice',
    'deepseek-reasoner does not support this tool_choice',
    'does not support tool choice "required"',
    "No endpoints found that support the provided 'tool_choice' value.",
    "The keyword 'oneOf' is not supported in a tool's schema",
    'This model does not support image input',
    'Unsupported parameter: max_tokens',
  ])('does not mistake %j', (message) => {
    expect(isToolsUnsupported(message)).toBe(false);
  });

  it('takes little time over any text', () => {
    // Work that grew with the square of the text would run into the time limit of the test.
    for (const bit of ['tool ', 'does not support ', 'function calling is ', "'"])
      expect(isToolsUnsupported(bit.repeat(100_000))).toBe(false);
  });
});

describe('a call of the model that its backend could not read', () => {
  const tagged = '<tool_call>{"name": "f"}</tool_call>';
  const groq = { message: "Failed to call a function. See 'failed_generation'.", code: 'tool_use_failed', failed_generation: tagged };

  it.each<[string, number, unknown, string | undefined]>([
    ['Ollama', 500, { error: `error parsing tool call: raw='${tagged}', err=unexpected end of JSON input` }, tagged],
    ['Ollama, XML', 500, { error: 'XML syntax error on line 3: element <parameter> closed by </function>' }, undefined],
    ['llama.cpp', 500, { error: { code: 500, message: `Failed to parse input at pos 12: ${tagged}`, type: 'server_error' } }, tagged],
    ['LM Studio', 400, { error: `Failed to parse tool call: Unexpected end of content. Model Output: ${tagged}` }, tagged],
    ['llama.cpp, a stream', 500, { error: { code: 500, message: 'Invalid diff: now finding less tool calls!' } }, undefined],
    ['Ollama, JSON', 500, { error: 'failed to parse JSON: unexpected end of JSON input' }, undefined],
    ['Ollama, elements', 500, { error: 'expected element type <function> but have <parameter>' }, undefined],
    ['Ollama, a field of its own', 500, { 'error parsing tool call': "invalid character 'c' looking for beginning of value" }, undefined],
    ['vLLM, a header', 500, { error: { message: 'unexpected tokens remaining in message header: Some("to=functions.f")' } }, undefined],
    ['vLLM, a token', 500, { error: { message: 'Unexpected token 12606 while expecting start token 200006' } }, undefined],
    ['Text Generation Inference', 422, { error: 'Tool error: No tool call in generated text', error_type: 'tool_error' }, undefined],
    ['Groq, without a code', 400, { error: { message: "Tool call validation failed: attempted to call tool 'g'" } }, undefined],
    [
      'Groq behind OpenRouter',
      400,
      { error: { message: 'Provider returned error', code: 400, metadata: { raw: JSON.stringify({ error: groq }) } } },
      tagged,
    ],
    ['SGLang', 400, { object: 'error', message: 'Failed to parse fc related info to json format!', code: 400 }, undefined],
    ['Groq', 400, { error: groq }, tagged],
    [
      'Groq, a call that does not fit',
      400,
      { error: { ...groq, message: "attempted to call tool 'g' which was not in request.tools" } },
      tagged,
    ],
    [
      'a server with plain text',
      500,
      `Failed to parse input at pos 3: ${tagged.replaceAll(/[<>]/gu, '|')}`,
      tagged.replaceAll(/[<>]/gu, '|'),
    ],
  ])('has a code of its own, with what the model wrote (%s)', async (_server, status, body, written) => {
    const type = typeof body === 'string' ? 'text/plain' : json;
    const fault = await readErrorResponse(answer(status, body, { 'content-type': type }), 'lab', noSecrets);
    expect(fault).toMatchObject({ code: 'model_call_unreadable', status: 502 });
    expect((fault as { written?: string }).written).toBe(written);
    expect(fault.message).toContain(written ?? 'lab');
  });

  it.each([
    ['the key', 401, { error: { message: `Failed to parse input at pos 1: ${tagged}` } }, 'upstream_auth_failed'],
    ['a call of the history', 500, { error: 'Failed to parse tool call arguments as JSON: parse error at line 1' }, 'upstream_error'],
    [
      'structured output',
      400,
      { error: { message: 'Failed to generate JSON.', code: 'json_validate_failed', failed_generation: '{' } },
      'upstream_rejected',
    ],
  ])('is nothing that concerns %s', async (_what, status, body, code) => {
    expect(await readErrorResponse(answer(status, body), 'lab', noSecrets)).toMatchObject({ code });
  });

  it('has no secret in what the model wrote', async () => {
    const mask = createSecretMask(['sk-secret-value-1']);
    const fault = toReportedError({ error: { ...groq, failed_generation: 'f(sk-secret-value-1)' } }, 'lab', mask);
    expect(fault).not.toMatchObject({ written: expect.stringContaining('sk-secret') as string });
    expect(fault.message).not.toContain('sk-secret');
  });
});
