import { describe, expect, it } from 'vitest';

import { classifyAddress } from '../../../src/policy/outbound/classify-address.ts';
import type { AddressClass } from '../../../src/policy/outbound/classify-address.ts';
import { decideEgress, explainRefusal, isReachable, originOf } from '../../../src/policy/outbound/egress.ts';
import type { DecidedTrust, EgressRules } from '../../../src/policy/outbound/egress.ts';

const addresses: Record<AddressClass, string[]> = {
  public: [
    '1.1.1.1',
    '8.8.8.8',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '168.63.129.15',
    '169.253.255.255',
    '169.255.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450::1',
    '::ffff:8.8.8.8',
    '::ffff:0:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
    '2001:0:4136:e378:8000:63bf:f7f7:f7f7',
  ],
  private: [
    '10.0.0.0',
    '10.255.255.255',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '192.168.255.255',
    '100.64.0.1',
    '100.127.255.255',
    'fc00::1',
    'fd12:3456:789a::1',
    'fdff:ffff::1',
    'fec0::1',
    '::ffff:10.0.0.1',
    '::ffff:a00:1',
    '::10.0.0.1',
    '64:ff9b::a00:1',
    '2002:a00:1::',
    '2002:c0a8:101::1',
    '64:ff9b:1::808:808',
    '2001:0:4136:e378:8000:63bf:3f57:fefe',
  ],
  loopback: [
    '127.0.0.1',
    '127.0.0.2',
    '127.255.255.255',
    '0.0.0.0',
    '::',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::FFFF:7F00:1',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '::ffff:0.0.0.0',
    '64:ff9b::7f00:1',
    '64:ff9b::127.0.0.1',
    '2002:7f00:1::',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
  ],
  'link-local': [
    '169.254.0.1',
    '169.254.169.253',
    '169.254.255.255',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    '::ffff:169.254.1.1',
    '64:ff9b::169.254.1.1',
    '2002:a9fe:101::',
    '64:ff9b:1:a9fe:1:100::',
  ],
  metadata: [
    '169.254.169.254',
    '169.254.170.2',
    '100.100.100.200',
    '100.96.0.96',
    '168.63.129.16',
    '192.0.0.192',
    'fd00:ec2::254',
    'FD00:0EC2:0:0:0:0:0:0254',
    'fd00:ec2::23',
    'fd20:ce::254',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '::169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::a9fe:a9fe',
    '64:ff9b:1:a9fe:a9:fe00::',
    '2002:a9fe:a9fe::1',
    '::ffff:100.100.100.200',
    '2001:0:4136:e378:8000:63bf:5601:5601',
  ],
  other: [
    '0.0.0.1',
    '0.1.2.3',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.250',
    '240.0.0.1',
    '255.255.255.255',
    '::ffff:224.0.0.1',
    '2001:db8::1',
    '3fff::1',
    'ff02::1',
    '100::1',
    '5f00::1',
    '4000::1',
    '1::1',
    '',
    'localhost',
    'example.com',
    '127.0.0.1:80',
    '[::1]',
  ],
};

describe('classifyAddress', () => {
  const cases = Object.entries(addresses).flatMap(([expected, texts]) => texts.map((text) => ({ text, expected })));
  it.each(cases)('says that $text is $expected', ({ text, expected }) => {
    expect(classifyAddress(text)).toBe(expected);
  });
});

describe('isReachable', () => {
  it.each([
    ['public', true, true],
    ['private', false, true],
    ['loopback', false, true],
    ['other', false, true],
    ['link-local', false, false],
    ['metadata', false, false],
  ] as const)('%s: by public reach %s, by private reach %s', (addressClass, byPublic, byPrivate) => {
    expect(isReachable(addressClass, 'public')).toBe(byPublic);
    expect(isReachable(addressClass, 'private')).toBe(byPrivate);
  });
});

const user: DecidedTrust = { kind: 'request', mayReachPrivate: false };
const admin: DecidedTrust = { kind: 'request', mayReachPrivate: true };
const linked = (reach: 'public' | 'private'): DecidedTrust => ({ kind: 'linked', reach });
const configured = (origin: string): DecidedTrust => ({ kind: 'configured', origin });
const rules = (mode: EgressRules['mode'], ...allow: string[]): EgressRules => ({ mode, allow });

describe('decideEgress', () => {
  it.each<[string, string, DecidedTrust, EgressRules]>([
    ['a public address for a request', 'https://1.1.1.1/x', user, rules('public')],
    ['a private address for an administrator', 'http://10.0.0.5:8000/', admin, rules('public')],
    ['this host for an administrator', 'http://127.0.0.1:8000/', admin, rules('public')],
    ['a private address with "any"', 'http://10.0.0.5:8000/', user, rules('any')],
    ['a listed private origin', 'http://192.168.1.5:8000/x?y', user, rules('public', 'http://192.168.1.5:8000')],
    ['a listed origin with "none"', 'http://192.168.1.5:8000/', user, rules('none', 'http://a.example', 'http://192.168.1.5:8000/')],
    ['a listed origin with its default port written', 'http://intranet.example/', user, rules('none', 'http://INTRANET.example:80')],
    ['a private address where a server in a private network leads', 'http://10.0.0.5:8000/', linked('private'), rules('none')],
    ['a public address where any server leads', 'https://1.1.1.1/x', linked('public'), rules('none')],
    ['a listed private origin where a public server leads', 'http://10.0.0.5/', linked('public'), rules('none', 'http://10.0.0.5')],
    ['the configured private origin', 'http://192.168.1.5:8000/x', configured('http://192.168.1.5:8000'), rules('none')],
    ['the origin of a configured base URL', 'http://127.0.0.1:11434/api/chat', configured('http://127.0.0.1:11434/v1'), rules('none')],
  ])('allows %s', (_, url, trust, given) => {
    expect(decideEgress(new URL(url), trust, given).isAllowed).toBe(true);
  });

  it.each<[string, string, DecidedTrust, EgressRules]>([
    ['a private address for a request', 'http://10.0.0.5:8000/', user, rules('public')],
    ['this host for a request', 'http://[::1]:8000/', user, rules('public')],
    ['a reserved address for a request', 'http://198.18.0.1/', user, rules('public')],
    ['anything with "none"', 'https://1.1.1.1/', user, rules('none')],
    ['anything with "none", for administrators too', 'https://1.1.1.1/', admin, rules('none')],
    ['a listed host on another port', 'http://192.168.1.5:8001/', user, rules('public', 'http://192.168.1.5:8000')],
    ['a listed host with another scheme', 'https://192.168.1.5/', user, rules('public', 'http://192.168.1.5')],
    ['metadata with "any"', 'http://169.254.169.254/latest', admin, rules('any')],
    ['metadata although it is listed', 'http://169.254.169.254/', admin, rules('any', 'http://169.254.169.254')],
    ['metadata although it is configured', 'http://169.254.169.254/', configured('http://169.254.169.254'), rules('any')],
    ['link-local although it is configured', 'http://[fe80::1]/', configured('http://[fe80::1]'), rules('any')],
    ['a private address where a public server leads', 'http://10.0.0.5:8000/', linked('public'), rules('any')],
    ['this host where a public server leads', 'http://127.0.0.1:8000/', linked('public'), rules('any')],
    ['metadata where a server in a private network leads', 'http://169.254.169.254/', linked('private'), rules('any')],
    ['the port of another protocol where a server leads', 'http://10.0.0.5:25/', linked('private'), rules('any')],
    ['another port than the configured one', 'http://127.0.0.1:8001/', configured('http://127.0.0.1:8000'), rules('any')],
    ['another scheme than the configured one', 'https://a.example/', configured('http://a.example'), rules('any')],
    ['another host than the configured one', 'http://b.example/', configured('http://a.example'), rules('any')],
    ['a longer host than the configured one', 'http://a.example.evil.test/', configured('http://a.example'), rules('any')],
    ['everything when the configured origin is none', 'http://a.example/', configured('a.example'), rules('any')],
  ])('refuses %s', (_, url, trust, given) => {
    expect(decideEgress(new URL(url), trust, given).isAllowed).toBe(false);
  });

  it('leaves a name to its addresses, which must be public for a request', () => {
    expect(decideEgress(new URL('http://intranet.example/'), user, rules('public'))).toEqual({ isAllowed: true, reach: 'public' });
    expect(decideEgress(new URL('http://intranet.example/'), admin, rules('public'))).toEqual({ isAllowed: true, reach: 'private' });
  });

  it('prints the line to set and the reason', () => {
    const decision = decideEgress(new URL('http://192.168.1.5:8000/openapi.json?token=secret'), user, rules('public'));
    expect(decision).toEqual({
      isAllowed: false,
      message:
        'http://192.168.1.5:8000 has a private address, and servers that come with a request may only have public ones. ' +
        'To allow it, set: TOOL_SERVER_ALLOW=http://192.168.1.5:8000',
    });
  });

  it('prints the line to set with "none", and says that the list grows', () => {
    const decision = decideEgress(new URL('https://tools.example/x'), user, rules('none', 'https://hidden.example'));
    expect(decision).toHaveProperty(
      'message',
      expect.stringMatching(/TOOL_SERVER_EGRESS=none .*in addition.*TOOL_SERVER_ALLOW=https:\/\/tools\.example$/u),
    );
    expect(decision).not.toHaveProperty('message', expect.stringContaining('hidden'));
  });

  it('offers no setting for metadata and link-local addresses', () => {
    expect(explainRefusal('http://metadata.example', 'metadata', { trust: user, rules: rules('public') })).not.toContain(
      'TOOL_SERVER_ALLOW',
    );
    expect(explainRefusal('http://printer.example', 'link-local', { trust: user, rules: rules('public') })).not.toContain(
      'TOOL_SERVER_ALLOW',
    );
  });
});

describe('originOf', () => {
  it.each([
    ['HTTP://EXAMPLE.com:80/a?b#c', 'http://example.com'],
    ['https://example.com:8443', 'https://example.com:8443'],
    ['http://0x7f.1:8000', 'http://127.0.0.1:8000'],
    ['ftp://example.com', undefined],
    ['example.com', undefined],
    ['localhost:8000', undefined],
    ['*', undefined],
  ])('%s is %s', (url, origin) => {
    expect(originOf(url)).toBe(origin);
  });
});
