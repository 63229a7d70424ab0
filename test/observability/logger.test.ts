import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/core/errors.ts';
import { createLogger } from '../../src/observability/logger.ts';
import type { Logger, LoggerOptions } from '../../src/observability/logger.ts';
import { prettyLines } from '../../src/observability/pretty-lines.ts';

interface LogOptions {
  level?: LoggerOptions['level'];
  format?: 'json' | 'pretty';
}

function logged(write: (logger: Logger) => void, { level = 'info', format = 'json' }: LogOptions = {}): string {
  let output = '';
  const destination = { write: (line: string) => void (output += line) };
  write(createLogger({ level, destination: format === 'json' ? destination : prettyLines(destination) }));
  return output;
}

const line = (write: (logger: Logger) => void): Record<string, unknown> => JSON.parse(logged(write)) as Record<string, unknown>;

describe('a line of the log', () => {
  it('is one JSON object with level, time, facts and message', () => {
    expect(line((logger) => logger.info({ run_id: 'r', nested: { list: [1, null, true] } }, 'run ended'))).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      run_id: 'r',
      nested: { list: [1, null, true] },
      msg: 'run ended',
    });
  });

  it('has of a request its id, method and path, of a reply its status', () => {
    const req = { id: 'q', method: 'GET', url: '/v1/models?key=CANARY#CANARY', headers: { 'x-other': 'CANARY' }, body: 'CANARY' };
    const fields = line((logger) => logger.info({ req, res: { statusCode: 204, headers: { 'set-cookie': 'CANARY' } } }));
    expect(fields).toMatchObject({ req: { id: 'q', method: 'GET', path: '/v1/models' }, res: { statusCode: 204 } });
    expect(JSON.stringify(fields)).not.toContain('CANARY');
  });

  it('has of an error its type, code, message, stack and causes, and no field of an upstream', () => {
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', address: 'CANARY' });
    const error = Object.assign(new GatewayError('upstream_error', 'The backend failed.', { cause }), {
      body: 'CANARY',
      response: { text: 'CANARY' },
    });
    const fields = line((logger) => logger.error(error));
    expect(fields).toMatchObject({
      err: { type: 'GatewayError', code: 'upstream_error', status: 502, message: 'The backend failed.', cause: { code: 'ECONNREFUSED' } },
      msg: 'The backend failed.',
    });
    expect(JSON.stringify(fields)).not.toContain('CANARY');
  });

  it('leaves out a fact that is not known, whatever its name', () => {
    expect(logged((logger) => logger.info({ prompt_tokens: undefined, token: undefined, nested: { key: undefined } }))).not.toMatch(
      /token|key|redacted/,
    );
  });

  it('is written at its level and above only', () => {
    expect(logged((logger) => logger.debug('x'))).toBe('');
    expect(logged((logger) => logger.fatal('x'), { level: 'silent' })).toBe('');
  });

  it('names live objects without walking through them, and ends at circles', () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    const fields = line((logger) => logger.info({ circle, socket: new AbortController(), day: new Date(0) }));
    expect(fields).toMatchObject({ socket: '[AbortController]', day: '1970-01-01T00:00:00.000Z' });
  });
});

describe('a line of a child logger', () => {
  const fields = { run_id: 'r "1"', stream: false, status: 200, duration_ms: 1.25, left: Number.NaN, code: undefined, user: 'Zoë\u0007' };
  const withoutTime = (text: string): string => text.replaceAll(/"time":"[^"]*"/g, '"time":""');

  it('is written as the same fields without a child are, also once their names are known', () => {
    const whole = logged((logger) => logger.warn({ reqId: 'q', caller: 'ada', ...fields }, 'ended'));
    const lines = logged((logger) => {
      for (let time = 0; time < 2; time += 1) {
        const child = logger.child({ reqId: 'q' }) as Logger;
        child.setBindings({ caller: 'ada' });
        child.warn(fields, 'ended');
      }
    });
    expect(withoutTime(lines)).toBe(withoutTime(whole + whole));
    expect(whole).toContain('"status":200');
  });

  it.each(['Bearer CANARY-CANARY', 'sk-CANARYCANARY', 'https://ada:CANARY@host/?q=CANARY', '{\\"token\\":\\"CANARY\\"}'])(
    'hides the secret of %s in each text',
    (secret) => {
      const names = ['reqId', 'path', 'caller', 'run_id', 'model', 'code', 'error', 'msg'];
      const log = (logger: Logger): void => {
        for (const name of [...names, ...names]) logger.child({ [name]: secret }).info({ text: secret, [name]: secret }, secret);
      };
      expect(logged(log)).toContain('[redacted]');
      expect(logged(log)).not.toContain('CANARY');
    },
  );

  it('is left out below the level', () => {
    expect(logged((logger) => logger.child({ a: 1 }).debug({ b: 2 }, 'x'))).toBe('');
  });
});

describe('a secret', () => {
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJDQU5BUlkifQ.Q0FOQVJZ';
  it.each<[string, (logger: Logger) => void]>([
    ['under its name', (logger) => logger.info({ authorization: 'CANARY', 'x-api-key': 'CANARY', cookie: 'CANARY', password: 'CANARY' })],
    [
      'under its name in another spelling',
      (logger) => logger.info({ Authorization: 'CANARY', apiKey: 'CANARY', 'Set-Cookie': ['CANARY'] }),
    ],
    ['deep inside', (logger) => logger.info({ a: { b: [{ c: { key: 'CANARY', token: { value: 'CANARY' } } }] } })],
    ["in a tool server's headers", (logger) => logger.info({ server: { id: 'time', key: 'CANARY', headers: { 'x-whatever': 'CANARY' } } })],
    ['deeper than a log goes', (logger) => logger.info({ a: { b: { c: { d: { e: { f: { g: { h: 'CANARY' } } } } } } } })],
    ['given to a child logger', (logger) => logger.child({ server: { headers: { a: 'CANARY' } }, token: 'CANARY' }).info('x')],
    [
      'given to a child of a child',
      (logger) =>
        logger
          .child({ a: 1 })
          .child({ b: { secret: 'CANARY' } }, { level: 'info' })
          .info('x'),
    ],
    ['in a message, as a key', (logger) => logger.info('used sk-tw-CANARY1234 and sk-proj-CANARY_abc-1')],
    ['in a message, as a bearer token', (logger) => logger.info('sent Authorization: Bearer CANARYCANARY')],
    ['in a message, as basic credentials', (logger) => logger.info('sent basic CANARYCANARY==')],
    ['in a message, as a signed token', (logger) => logger.info(`sent ${jwt}`)],
    ['in the user part of an address', (logger) => logger.info({ url: 'postgres://user:CANARY@host/db' }, 'redis://:CANARY@host')],
    [
      'in the query of an address',
      (logger) => logger.info({ url: 'http://host/a?api_key=CANARY&b=CANARY' }, 'GET https://h/?k=CANARY failed'),
    ],
    ['in the message of an error', (logger) => logger.error(new Error('Bearer CANARYCANARY refused by http://h/x?key=CANARY'))],
    ['in the message of a cause', (logger) => logger.error({ err: new Error('a', { cause: new Error('sk-CANARYCANARY') }) }, 'b')],
    [
      'in an error under another name',
      (logger) => logger.error({ reason: Object.assign(new Error('a'), { headers: 'CANARY', config: 'CANARY' }) }),
    ],
    [
      'in text that holds JSON',
      (logger) => logger.info(JSON.stringify({ apiKey: 'CANARY', client_secret: 'CANARY', 'x-api-key': 'CANARY' })),
    ],
  ])('%s does not appear', (_case, write) => {
    for (const format of ['json', 'pretty'] as const) {
      const output = logged(write, { format });
      expect(output).not.toBe('');
      expect(output).not.toMatch(/CANARY|Q0FOQVJZ/);
    }
    expect(() => line(write)).not.toThrow();
  });

  it('leaves the words of a message that only speaks of Basic authentication', () => {
    const message = 'Send the key as the password of Basic authentication.';
    expect(line((logger) => logger.info(message))).toMatchObject({ msg: message });
  });

  it('is not taken for one in a stack that names the line of a function', () => {
    const error = Object.assign(new Error('a'), { stack: 'Error: a\n    at execute (file:///srv/tools/dice.ts?toolwharf-load=12:8:15)' });
    expect(logged((logger) => logger.error(error))).toContain('file:///srv/tools/dice.ts:8:15)');
    expect(logged((logger) => logger.info('file:///srv/tools/dice.ts?toolwharf-load=1&key=CANARY'))).not.toContain('CANARY');
  });

  it('is looked for in a hostile message in time that grows with its length', () => {
    const hostile = ['a.', 'http://', '\\', '\\"token\\":', 'eyJa-', 'Bearer '].map((piece) => piece.repeat(120_000 / piece.length));
    // Work that grew with the square of the text would run into the time limit of the test.
    for (const message of hostile) expect(logged((logger) => logger.info(message))).toContain('"msg"');
  });
});

describe('pretty', () => {
  it('is for people: level, message, facts', () => {
    const output = logged((logger) => logger.warn({ tool: 'time' }, 'slow'), { format: 'pretty' });
    expect(output).toMatch(/WARN.*slow/);
    expect(output).toContain('"tool":"time"');
  });
});
