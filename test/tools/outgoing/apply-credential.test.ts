import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { convertOperations } from '../../../src/tools/openapi/convert/convert-operations.ts';
import type { CredentialSet } from '../../../src/tools/definitions/operation.ts';
import { applyCredential, type Credential, type AppliedCredential } from '../../../src/tools/outgoing/apply-credential.ts';

const schemes: JsonObject = {
  header: { type: 'apiKey', in: 'header', name: 'X-Key' },
  query: { type: 'apiKey', in: 'query', name: 'token' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
  authorization: { type: 'apiKey', in: 'header', name: 'Authorization', description: 'With required prefix "Token"' },
  raw: { type: 'apiKey', in: 'header', name: 'Authorization' },
  host: { type: 'apiKey', in: 'header', name: 'Host' },
  bearer: { type: 'http', scheme: 'Bearer' },
  basic: { type: 'http', scheme: 'basic' },
  token: { type: 'http', scheme: 'Token' },
  oauth: { type: 'oauth2', flows: {} },
  tls: { type: 'mutualTLS' },
  aside: { $ref: '#/components/securitySchemes/header' },
  dangling: { $ref: '#/none' },
};

/** What an operation with these requirements asks of a connection. */
function securityOf(security: string[][] | undefined, documentWide?: string[][]): CredentialSet[] | undefined {
  const toRequirements = (sets: string[][]): JsonObject[] => sets.map((names) => Object.fromEntries(names.map((name) => [name, []])));
  const document = {
    openapi: '3.1.0',
    components: { securitySchemes: schemes },
    ...(documentWide && { security: toRequirements(documentWide) }),
    paths: { '/a': { get: { ...(security && { security: toRequirements(security) }) } } },
  };
  return convertOperations(document).operations[0]?.security;
}

const only = (headers: Record<string, string>, query: Record<string, string> = {}): AppliedCredential => ({ headers, query });
const bearer = { authorization: 'Bearer k' };

describe('where a key goes', () => {
  it.each<[string, Credential, string[][], AppliedCredential]>([
    ['bearer to a bearer scheme', { authType: 'bearer', key: 'k' }, [['header'], ['bearer']], only(bearer)],
    ['bearer to OAuth', { authType: 'bearer', key: 'k' }, [['oauth'], ['query']], only(bearer)],
    ['bearer to a header of its own', { authType: 'bearer', key: 'k' }, [['query'], ['header']], only({ ...bearer, 'x-key': 'k' })],
    ['bearer to a query', { authType: 'bearer', key: 'k' }, [['query']], only(bearer, { token: 'k' })],
    ['bearer to a cookie', { authType: 'bearer', key: 'k' }, [['cookie'], ['query']], only({ ...bearer, cookie: 'sid=k' })],
    ['bearer where basic alone is known', { authType: 'bearer', key: 'k' }, [['basic']], only(bearer)],
    [
      'bearer under the prefix that is asked for',
      { authType: 'bearer', key: 'k' },
      [['basic'], ['authorization']],
      only({ authorization: 'Token k' }),
    ],
    ['bearer in a plain Authorization', { authType: 'bearer', key: 'k' }, [['raw']], only(bearer)],
    ['bearer to a scheme Token', { authType: 'bearer', key: 'k' }, [['token']], only({ authorization: 'Token k' })],
    ['header to the document’s', { authType: 'header', key: 'k' }, [['query'], ['header']], only({ 'x-key': 'k' })],
    ['header to a reference', { authType: 'header', key: 'k' }, [['aside']], only({ 'x-key': 'k' })],
    ['header to a cookie', { authType: 'header', key: 'k' }, [['query'], ['cookie']], only({ cookie: 'sid=k' })],
    ['header where the operator names it', { authType: 'header', authName: 'X-Own', key: 'k' }, [['header']], only({ 'x-own': 'k' })],
    ['header that already has its prefix', { authType: 'header', key: 'Token k' }, [['authorization']], only({ authorization: 'Token k' })],
    ['query to the document’s', { authType: 'query', key: 'k' }, [['header'], ['query']], only({}, { token: 'k' })],
    ['query where the operator names it', { authType: 'query', authName: 'own', key: 'k' }, [['query']], only({}, { own: 'k' })],
    ['query where the document knows none', { authType: 'query', key: 'k' }, [['header']], only({}, { api_key: 'k' })],
    ['basic', { authType: 'basic', key: 'u:p' }, [['header']], only({ authorization: 'Basic dTpw' })],
    ['none', { authType: 'none', key: 'k' }, [['header']], only({})],
    ['no key', { authType: 'bearer', key: '' }, [['header']], only({})],
  ])('%s', (_, connection, security, expected) => {
    expect(applyCredential(connection, securityOf(security))).toEqual(expected);
  });

  it('two together are served by the key and the connection’s own header, and the first that can be is taken', () => {
    const security = securityOf([
      ['header', 'query'],
      ['header', 'cookie'],
    ]);
    expect(applyCredential({ authType: 'header', key: 'k', headers: { Cookie: 'sid=1' } }, security)).toEqual(only({ 'x-key': 'k' }));
    expect(applyCredential({ authType: 'query', key: 'k', headers: { 'x-KEY': '1' } }, security)).toEqual(only({}, { token: 'k' }));
    expect(applyCredential({ authType: 'header', key: 'k' }, securityOf([['header', 'query']]))).toEqual(only({ 'x-api-key': 'k' }));
  });

  it('a value that a cookie cannot hold is encoded', () => {
    expect(applyCredential({ authType: 'header', key: 'a;b' }, securityOf([['cookie']]))).toEqual(only({ cookie: 'sid=a%3Bb' }));
    expect(applyCredential({ authType: 'header', key: 's%3Aa=' }, securityOf([['cookie']]))).toEqual(only({ cookie: 'sid=s%3Aa=' }));
  });
});

describe('what an operation asks for', () => {
  it('is its own word, else the document’s, else any of the schemes', () => {
    expect(securityOf([['query']], [['header']])).toEqual([[{ kind: 'query', name: 'token' }]]);
    expect(securityOf(undefined, [['header']])).toEqual([[{ kind: 'header', name: 'X-Key' }]]);
    expect(securityOf(undefined)).toContainEqual([{ kind: 'cookie', name: 'sid' }]);
    expect(securityOf([])).toContainEqual([{ kind: 'bearer' }]);
    expect(convertOperations({ openapi: '3.1.0', paths: { '/a': { get: {} } } }).operations[0]).not.toHaveProperty('security');
  });

  it('is never to be sent as what frames a message', () => {
    const securitySchemes = { host: { type: 'apiKey', in: 'header', name: 'Host' }, odd: { type: 'apiKey', in: 'header', name: 'a b' } };
    const { operations } = convertOperations({ openapi: '3.1.0', components: { securitySchemes }, paths: { '/a': { get: {} } } });
    expect(operations[0]).not.toHaveProperty('security');
  });

  it('is not what cannot be fulfilled', () => {
    expect(securityOf([['tls', 'header'], ['dangling'], ['unknown'], ['query']])).toEqual([[{ kind: 'query', name: 'token' }]]);
  });
});
