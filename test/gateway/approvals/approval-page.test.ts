import { hash } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it } from 'vitest';
import type { WaitingRun } from '../../../src/core/runs/suspended-run.ts';
import { openApprovalPage } from '../../../src/http/pages/approval-page.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { documentOf, serverOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import {
  askPlainly,
  bankGateway,
  call,
  decide,
  ended,
  lastResults,
  linkOf,
  pathsSent,
  readRun,
  storesIn,
  textOfPage,
  visit,
} from './approval-fixture.ts';
import type { Asked } from './approval-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

const newFolder = temporaryFolders();
const pay = calls(['pay', { amount: 5 }]);

describe('the page of an approval', () => {
  it('shows what waits, escaped, and changes nothing however often it is fetched [S2-11]', async () => {
    const note = '</textarea><script>alert("&amp;")</script>';
    const schema = { type: 'object', properties: { amount: { type: 'integer' }, note: { type: 'string' } } };
    const servers = [serverOf('bank', documentOf({ pay: schema }), { extra: { config: { needs_approval: true } } })];
    await using gateway = await bankGateway({ servers, turns: [calls(['pay', { amount: 5, note }])] });
    const asked = await askPlainly(gateway);
    for (let times = 0; times < 3; times += 1) {
      const response = await visit(gateway, linkOf(asked));
      expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(textOfPage(response)).toContain('Approve this call?');
      expect(textOfPage(response)).toContain('The model model wants to run this call');
      expect(textOfPage(response)).toContain('Server bank Request POST /pay');
      expect(textOfPage(response)).toContain(JSON.stringify({ amount: 5, note }, null, 2).replaceAll(/\s+/g, ' '));
      expect(response.body).not.toContain('<script');
      expect(response.body.match(/<\/textarea>/g)).toHaveLength(2);
    }
    expect((await readRun(gateway, asked)).status).toBe('waiting');
    expect(gateway.sent).toEqual([]);
  });

  it('shows the address with the arguments filled in', async () => {
    const path = '/accounts/{id}/payments';
    const parameters = [
      { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'all', in: 'query', schema: { type: 'boolean' } },
    ];
    const operation = { operationId: 'delete_payments', description: 'Deletes', parameters, responses: { 200: { description: 'Done' } } };
    const document = { openapi: '3.1.0', info: { title: 'Bank', version: '1' }, paths: { [path]: { delete: operation } } };
    const servers = [serverOf('bank', document, { extra: { config: { needs_approval: true } } })];
    await using gateway = await bankGateway({ servers, turns: [calls(['delete_payments', { id: 'a/7', all: true }])] });
    const page = await visit(gateway, linkOf(await askPlainly(gateway)));
    expect(textOfPage(page)).toContain('Server bank Request DELETE /accounts/a%2F7/payments?all=true Arguments');
    expect(page.body).not.toContain('bank.test');
  });

  it('shows all arguments, and says how many lines are below the fold', async () => {
    const schema = { type: 'object', properties: { notes: { type: 'array', items: { type: 'string' } } } };
    const servers = [serverOf('bank', documentOf({ pay: schema }), { extra: { config: { needs_approval: true } } })];
    const few = { notes: Array.from({ length: 5 }, (_, index) => `note ${index}`) };
    const many = { notes: Array.from({ length: 300 }, (_, index) => `note ${index}`) };
    const long = { notes: ['x'.repeat(7_600)] };
    await using gateway = await bankGateway({ servers, turns: [calls(['pay', few], ['pay', many], ['pay', long])] });
    const page = await visit(gateway, linkOf(await askPlainly(gateway)));
    const shown = textOfPage(page);
    for (const args of [few, many, long]) expect(shown).toContain(JSON.stringify(args, null, 2).replaceAll(/\s+/g, ' '));
    expect(shown.match(/\d+ lines, \d+ of them below the fold/g)).toEqual([
      '304 lines, 288 of them below the fold',
      '105 lines, 89 of them below the fold',
    ]);
  });

  it('shows in arguments, and before the link, what would hide in them, and runs the call with it as it is', async () => {
    const note = 'to x\u202ecod.exe\u200b\u{e0041}';
    const shown = String.raw`to x\u202ecod.exe\u200b\udb40\udc41`;
    const schema = { type: 'object', properties: { note: { type: 'string' } } };
    const servers = [serverOf('bank', documentOf({ pay: schema }), { extra: { config: { needs_approval: true } } })];
    await using gateway = await bankGateway({ servers, turns: [calls(['pay', { note }]), says('Paid.')] });
    const asked = await askPlainly(gateway);
    expect(asked.choices[0]?.message.content).toContain(`pay({"note":"${shown}"})`);
    const page = await visit(gateway, linkOf(asked));
    expect(textOfPage(page)).toContain(shown);
    expect(page.body).not.toMatch(/[\u202e\u200b]|\u{e0041}/u);
    const form = { call: asked.approval.calls[0]?.id ?? '', decision: 'approve', arguments: `{"note": "${shown}"}` };
    expect((await visit(gateway, linkOf(asked), { form })).statusCode).toBe(303);
    await ended(gateway, asked);
    const { events } = await readRun(gateway, asked);
    expect(events.find(({ type }) => type === 'approval.response')?.data).not.toHaveProperty('edited');
    expect(gateway.sent.map(({ body }) => body)).toEqual([JSON.stringify({ note })]);
  });

  it('loads and runs nothing, is framed and stored by nobody, and gives its address to nobody', async () => {
    await using gateway = await bankGateway({ turns: [pay] });
    const { headers, body } = await visit(gateway, linkOf(await askPlainly(gateway)));
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      ),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    const [, style = ''] = /<style>([^]*)<\/style>/.exec(body) ?? [];
    expect(headers['content-security-policy']).toContain(`'sha256-${hash('sha256', style, 'base64')}'`);
    expect(body).not.toMatch(/ on\w+=| style=|<script|<link|<img|https?:\/\//);
  });

  it('takes an approval; the run goes on in the gateway, and the page tells what came of it [S2-11]', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.')] });
    const asked = await askPlainly(gateway);
    const [waiting] = asked.approval.calls;
    const response = await visit(gateway, linkOf(asked), { form: { call: waiting?.id ?? '', decision: 'approve' } });
    expect([response.statusCode, response.headers.location]).toEqual([303, expect.stringMatching(/^\?receipt=[\w-]{43}$/)]);
    await ended(gateway, asked);
    expect(gateway.sent.map(({ body }) => body)).toEqual(['{"amount":5}']);
    const after = await visit(gateway, linkOf(asked));
    expect([after.statusCode, after.headers['refresh']]).toEqual([200, undefined]);
    expect(textOfPage(after)).toMatch(/Decided.*pay Approved, completed.*"amount": 5.*"paid": true/);
    const run = await readRun(gateway, asked);
    expect(run.status).toBe('completed');
    expect(run.events.find(({ type }) => type === 'approval.response')?.data).toMatchObject({ decision: 'approve', tool: 'pay' });
  });

  it('is loaded again by itself until the run that goes on has ended', async () => {
    const paused = Promise.withResolvers<void>();
    await using gateway = await bankGateway({ turns: [pay, [paused.promise, ...says('Paid.')]] });
    const asked = await askPlainly(gateway);
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    const during = await visit(gateway, linkOf(asked));
    expect([during.statusCode, during.headers['refresh']]).toEqual([200, '2']);
    paused.resolve();
    await ended(gateway, asked);
    expect((await visit(gateway, linkOf(asked))).headers['refresh']).toBeUndefined();
  });

  it('takes a rejection, with words for the model', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('As you wish.')] });
    const asked = await askPlainly(gateway);
    await visit(gateway, linkOf(asked), { form: { decision: 'reject', message: ' Only after the first. ' } });
    await ended(gateway, asked);
    expect(lastResults(gateway)).toEqual([expect.stringContaining('The user says: Only after the first.')]);
    expect(gateway.sent).toEqual([]);
    expect(textOfPage(await visit(gateway, linkOf(asked)))).toMatch(/pay Rejected.*Only after the first/);
  });

  it('takes changed arguments, checks them before the link is spent, and says what is wrong with them', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.')] });
    const asked = await askPlainly(gateway);
    const id = asked.approval.calls[0]?.id ?? '';
    const send = (text: string): Promise<LightMyRequestResponse> =>
      visit(gateway, linkOf(asked), { form: { call: id, decision: 'approve', arguments: text } });
    for (const [wrong, problem] of [
      ['{"amount": "much"}', /arguments: .*amount/],
      ['{"amount": ', /The arguments are not JSON/],
      ['[5]', /must be a JSON object/],
    ] as const) {
      const response = await send(wrong);
      expect(response.statusCode).toBe(400);
      expect(textOfPage(response)).toMatch(problem);
      expect(textOfPage(response)).toContain(wrong.trim());
    }
    expect((await send('{"amount":\r\n 3}')).statusCode).toBe(303);
    await ended(gateway, asked);
    expect(gateway.sent.map(({ body }) => body)).toEqual(['{"amount":3}']);
    const { events } = await readRun(gateway, asked);
    expect(events.find(({ type }) => type === 'approval.response')?.data).toMatchObject({ edited: true });
  });

  it('takes no decision from the Enter key, which presses the first button, and keeps what was written', async () => {
    await using gateway = await bankGateway({ turns: [pay] });
    const asked = await askPlainly(gateway);
    const { body } = await visit(gateway, linkOf(asked));
    expect(/<button[^>]*>/.exec(body)?.[0]).toContain('name="decision" value=""');
    const response = await visit(gateway, linkOf(asked), {
      form: { decision: '', call: asked.approval.calls[0]?.id ?? '', arguments: '{"amount": 4}', message: 'Not so much' },
    });
    expect([response.statusCode, textOfPage(response)]).toEqual([
      400,
      expect.stringMatching(/Nothing is decided yet.*"amount": 4.*Not so much/),
    ]);
    expect((await readRun(gateway, asked)).status).toBe('waiting');
  });

  it('does not call arguments changed that came back as they were', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.')] });
    const asked = await askPlainly(gateway);
    await visit(gateway, linkOf(asked), {
      form: { decision: 'approve', call: asked.approval.calls[0]?.id ?? '', arguments: '{\r\n  "amount": 5\r\n}' },
    });
    const { events } = await readRun(gateway, asked);
    expect(events.find(({ type }) => type === 'approval.response')?.data).not.toHaveProperty('edited');
  });

  it('takes a decision on each of several calls, or on all that are left', async () => {
    const three = calls(['pay', { amount: 1 }], ['refund', { amount: 2 }], ['pay', { amount: 3 }]);
    await using gateway = await bankGateway({ turns: [three, says('Done.')] });
    const asked = await askPlainly(gateway);
    const link = linkOf(asked);
    expect(textOfPage(await visit(gateway, link))).toContain('Approve these 3 calls?');
    const second = asked.approval.calls[1]?.id ?? '';
    expect((await visit(gateway, link, { form: { call: second, decision: 'reject' } })).statusCode).toBe(303);
    const partly = textOfPage(await visit(gateway, link));
    expect(partly).toMatch(/Approve these 2 calls\?.*refund Arguments .*Rejected/);
    expect((await readRun(gateway, asked)).status).toBe('waiting');
    expect((await visit(gateway, link, { form: { call: second, decision: 'approve' } })).statusCode).toBe(409);
    await visit(gateway, link, { form: { decision: 'approve' } });
    await ended(gateway, asked);
    expect(gateway.sent.map(({ url, body }) => [new URL(url).pathname, body])).toEqual([
      ['/pay', '{"amount":1}'],
      ['/pay', '{"amount":3}'],
    ]);
  });

  it('remembers a decision where the chat has an id, and offers that nowhere else', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.'), pay, says('Again.'), pay] });
    const asked = await askPlainly(gateway, { chat_id: 'chat' });
    expect((await visit(gateway, linkOf(asked))).body).toContain('name="remember"');
    await visit(gateway, linkOf(asked), { form: { decision: 'approve', remember: 'true' } });
    await ended(gateway, asked);
    expect((await askPlainly(gateway, { chat_id: 'chat' })).choices[0]?.message.content).toBe('Again.');
    expect((await visit(gateway, linkOf(await askPlainly(gateway)))).body).not.toContain('name="remember"');
  });

  it('is built a call at a time, so that many with large arguments hold up nobody', async () => {
    const shown = Array.from({ length: 8 }, (_, place) => ({ id: String(place), tool: 'pay', args: { note: '<'.repeat(100_000) } }));
    let turns = 0;
    const count = (): void => {
      turns += 1;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const { body } = await openApprovalPage({
      run: { calls: shown, expires: 0, model: 'model', request: {} } as unknown as WaitingRun,
      answers: new Map(),
      caller: { id: 'a', role: 'user', isOpen: false },
    });
    clearImmediate(timer);
    expect(turns).toBeGreaterThanOrEqual(7);
    expect(body.markup.split('&lt;')).toHaveLength(8 * 100_000 + 1);
  });

  it('shows a call within a preset, and takes its decision', async () => {
    const preset = { id: 'clerk', base_model: 'model', tools: ['server:bank'] };
    const turns = [calls(['clerk', { request: 'Pay 5' }]), pay, says('I paid.'), says('The clerk paid.')];
    await using gateway = await bankGateway({ turns });
    await call(gateway, 'POST /api/presets', { payload: preset });
    const asked = await askPlainly(gateway, { tool_ids: ['preset:clerk'] });
    expect(textOfPage(await visit(gateway, linkOf(asked)))).toMatch(/pay .*Called by another preset/);
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await ended(gateway, asked);
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });
});

describe('a link', () => {
  it('is good for one decision, whichever way that came', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.')] });
    const asked = await askPlainly(gateway);
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await ended(gateway, asked);
    const again = await visit(gateway, linkOf(asked), { form: { decision: 'reject' } });
    expect([again.statusCode, textOfPage(again)]).toEqual([409, expect.stringContaining('Approved, completed')]);
    expect((await decide(gateway, asked)).statusCode).toBe(409);
    expect(pathsSent(gateway)).toHaveLength(1);
  });

  it('decides once, also when it is pressed several times at once', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.')] });
    const asked = await askPlainly(gateway);
    const form = { decision: 'approve' };
    const responses = await Promise.all([1, 2, 3].map(() => visit(gateway, linkOf(asked), { form })));
    expect(responses.map(({ statusCode }) => statusCode).toSorted((left, right) => left - right)).toEqual([303, 409, 409]);
    await ended(gateway, asked);
    expect(pathsSent(gateway)).toHaveLength(1);
  });

  /** With another last character, of which decoding ignores what differs. */
  function sameBytes(link: string): string {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    return `${link.slice(0, -1)}${alphabet[alphabet.indexOf(link.at(-1) ?? '') + 1]}`;
  }

  it('that nobody gave is good for nothing', async () => {
    await using gateway = await bankGateway({ turns: [pay, pay] });
    const [first, second] = [await askPlainly(gateway), await askPlainly(gateway)];
    const [, signature] = linkOf(second).split('.');
    const forged = [`/approvals/${first.approval.run_id}.${signature}`, sameBytes(linkOf(first)), '/approvals/x', `${linkOf(first)}a`];
    for (const path of forged) {
      for (const sent of [{}, { form: { decision: 'approve' } }]) {
        const response = await visit(gateway, path, sent);
        expect([response.statusCode, response.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
        expect(textOfPage(response)).toContain('No calls waiting');
      }
    }
    expect(gateway.sent).toEqual([]);
  });

  it('ends after a day', async () => {
    let time = Date.now();
    await using gateway = await bankGateway({ turns: [pay], now: () => time });
    const asked = await askPlainly(gateway);
    time += 24 * 60 * 60 * 1000;
    for (const sent of [{}, { form: { decision: 'approve' } }]) {
      const response = await visit(gateway, linkOf(asked), sent);
      expect([response.statusCode, textOfPage(response)]).toEqual([410, expect.stringContaining('expired after 24 hours')]);
    }
    expect(gateway.sent).toEqual([]);
  });

  it('is good after a restart, too, and with its run decided elsewhere', async () => {
    const folder = newFolder();
    const before = storesIn(folder);
    const first = await bankGateway({ ...before, turns: [pay] });
    const asked = await askPlainly(first);
    await first.app.close();
    await before.close();
    const after = storesIn(folder);
    await using gateway = await bankGateway({ ...after, turns: [says('Paid.')] });
    expect(textOfPage(await visit(gateway, linkOf(asked)))).toContain('Approve this call?');
    expect((await decide(gateway, asked)).statusCode).toBe(200);
    expect(textOfPage(await visit(gateway, linkOf(asked)))).toContain('pay Approved, completed');
    await after.close();
  });

  it('shows what failed after the decision, and lets it be tried again', async () => {
    await using gateway = await bankGateway({ turns: [pay, [new Error('down')], says('Paid.')] });
    const asked = await askPlainly(gateway);
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await waitFor(async () => expect((await visit(gateway, linkOf(asked))).body).toContain('Try again'));
    expect((await visit(gateway, linkOf(asked), { form: { decision: 'reject' } })).statusCode).toBe(409);
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await ended(gateway, asked);
    expect(pathsSent(gateway)).toHaveLength(1);
    expect((await readRun(gateway, asked)).status).toBe('completed');
  });

  it('of a run that was cancelled says so', async () => {
    await using gateway = await bankGateway({ turns: [pay] });
    const asked = await askPlainly(gateway);
    await call(gateway, `POST /api/runs/${asked.approval.run_id}/cancel`, { payload: {} });
    expect(textOfPage(await visit(gateway, linkOf(asked)))).toContain('This run was cancelled');
    expect((await visit(gateway, linkOf(asked), { form: { decision: 'approve' } })).statusCode).toBe(409);
    expect(gateway.sent).toEqual([]);
  });

  it('is in no log line', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.')] });
    const asked = await askPlainly(gateway);
    const [, secret = ''] = linkOf(asked).split('.');
    await visit(gateway, linkOf(asked));
    await visit(gateway, `${linkOf(asked)}/more`);
    await visit(gateway, linkOf(asked), { form: { decision: 'maybe' } });
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await ended(gateway, asked);
    const lines = gateway.app.logLines.join('');
    expect(lines).toContain('/approvals/');
    expect(lines).not.toContain(secret);
    expect(JSON.stringify(await readRun(gateway, asked))).not.toContain(secret);
  });
});

describe('who decides', () => {
  const adminKey = 'sk-tw-administrator';
  async function keyFor(gateway: Gateway, fields: object = {}): Promise<{ id: string; key: string }> {
    const payload = { name: 'anna', role: 'user', ...fields };
    return (await call(gateway, 'POST /api/keys', { key: adminKey, payload })).json<{ id: string; key: string }>();
  }

  it('needs no key beside the link, and must not show that of another caller', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.')], environment: { TOOLWHARF_ADMIN_KEY: adminKey } });
    const [anna, bert] = [await keyFor(gateway), await keyFor(gateway, { name: 'bert' })];
    const asked = await askPlainly(gateway, {}, anna.key);
    const withKey = (key: string): Record<string, string> => ({ authorization: `Basic ${Buffer.from(`x:${key}`).toString('base64')}` });
    for (const key of [bert.key, adminKey]) {
      for (const form of [undefined, { decision: 'approve' }]) {
        const response = await visit(gateway, linkOf(asked), { headers: withKey(key), ...(form && { form }) });
        expect(response.statusCode).toBe(404);
      }
    }
    expect(textOfPage(await visit(gateway, linkOf(asked), { headers: withKey(anna.key) }))).toContain('in a chat of anna');
    expect((await visit(gateway, linkOf(asked), { form: { decision: 'approve' } })).statusCode).toBe(303);
    await ended(gateway, asked, anna.key);
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });

  it('decides nothing once the key of the chat is gone', async () => {
    await using gateway = await bankGateway({ turns: [pay], environment: { TOOLWHARF_ADMIN_KEY: adminKey } });
    const { id, key } = await keyFor(gateway);
    const asked = await askPlainly(gateway, {}, key);
    await call(gateway, `DELETE /api/keys/${id}`, { key: adminKey });
    expect((await visit(gateway, linkOf(asked), { form: { decision: 'approve' } })).statusCode).toBe(404);
    expect(gateway.sent).toEqual([]);
  });

  it('counts against the limits of the key, without spending the link', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.')], environment: { TOOLWHARF_ADMIN_KEY: adminKey } });
    const { key } = await keyFor(gateway, { limits: { requests_per_minute: 1 } });
    const asked = await askPlainly(gateway, {}, key);
    const response = await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    expect([response.statusCode, textOfPage(response)]).toEqual([429, expect.stringContaining('Approve this call?')]);
    expect((await readRun(gateway, asked, adminKey)).status).toBe('waiting');
  });

  it('decides on the page itself, never from another site', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.')] });
    const asked = await askPlainly(gateway);
    const form = { decision: 'approve' };
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ] as Record<string, string>[]) {
      expect((await visit(gateway, linkOf(asked), { headers, form })).statusCode).toBe(403);
    }
    const asJson = await call(gateway, `POST ${linkOf(asked)}`, { payload: form });
    expect(asJson.statusCode).toBe(415);
    expect((await readRun(gateway, asked)).status).toBe('waiting');
    expect((await visit(gateway, linkOf(asked), { headers: { origin: 'null', 'sec-fetch-site': 'same-origin' }, form })).statusCode).toBe(
      303,
    );
  });

  it('reaches the page of an open gateway from this machine alone, and says elsewhere what to do', async () => {
    await using gateway = await bankGateway({ turns: [pay] });
    const asked = await askPlainly(gateway);
    for (const headers of [{ 'x-forwarded-for': '1.2.3.4' }, { host: 'gateway.example' }] as Record<string, string>[]) {
      for (const sent of [{}, { form: { decision: 'approve' } }]) {
        const response = await visit(gateway, linkOf(asked), { headers, ...sent });
        expect([response.statusCode, textOfPage(response)]).toEqual([403, expect.stringMatching(/127\.0\.0\.1.*TOOLWHARF_ADMIN_KEY/)]);
      }
      expect((await visit(gateway, linkOf(asked).slice(0, -4) + 'AAAA', { headers })).statusCode).toBe(404);
    }
    expect((await readRun(gateway, asked)).status).toBe('waiting');
  });
});

describe('the address of the link', () => {
  it('is PUBLIC_URL, else an address of this machine, and never what a header alone says', async () => {
    const adminKey = 'sk-tw-administrator';
    const ask = async (host: string, publicUrl?: string, more: Record<string, string> = {}): Promise<Asked> => {
      const environment = { TOOLWHARF_ADMIN_KEY: adminKey, ...(publicUrl !== undefined && { PUBLIC_URL: publicUrl }) };
      await using gateway = await bankGateway({ turns: [pay], environment });
      const headers = { host, authorization: `Bearer ${adminKey}`, ...more };
      const payload = { model: 'model', messages: [{ role: 'user', content: 'Pay' }] };
      return (await gateway.app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload })).json<Asked>();
    };
    const addressOf = ({ approval: { url } }: Asked): string | undefined => url?.split('/approvals/')[0];
    expect(addressOf(await ask('evil.example', 'https://chat.example/tools/'))).toBe('https://chat.example/tools');
    expect(addressOf(await ask('localhost:9000'))).toBe('http://localhost:9000');
    expect(addressOf(await ask('[::1]:9000'))).toBe('http://[::1]:9000');
    for (const asked of [
      await ask('evil.example'),
      await ask('toolwharf:8080'),
      await ask('127.0.0.1', undefined, { forwarded: 'for=1.2.3.4' }),
    ]) {
      expect(asked.approval).not.toHaveProperty('url');
      expect(asked.choices[0]?.message.content).toContain('set PUBLIC_URL');
    }
  });
});
