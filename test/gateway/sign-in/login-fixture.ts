import { expect } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { authorizationServer, passwordOf } from '../../_support/authorization-server.ts';
import type { AuthorizationServer } from '../../_support/authorization-server.ts';
import type { BrowserPage, ScriptAnswer, ScriptedBrowser } from '../../_support/scripted-browser.ts';
import { signInGateway } from './sign-in-fixture.ts';
import type { SignInGateway, SignInGatewayOptions } from './sign-in-fixture.ts';

export const audience = 'https://gateway.example/api';
const callback = 'http://127.0.0.1/login/callback';

/** Any port of this machine is the same to it, as RFC 8252 has it. */
export const consoleClient = {
  client_id: 'console',
  client_secret: 'CANARY-secret-of-the-console',
  application_type: 'native' as const,
  redirect_uris: [callback, 'https://gateway.example/login/callback'],
  post_logout_redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token'],
};

export const environmentFor = (issuer: string): NodeJS.ProcessEnv => ({
  OIDC_ISSUER: issuer,
  OIDC_AUDIENCE: audience,
  OIDC_CLIENT_ID: consoleClient.client_id,
  OIDC_CLIENT_SECRET: consoleClient.client_secret,
});

export interface LoginScene {
  authorization: AuthorizationServer;
  gateway: SignInGateway;
}

/** A gateway, and the OpenID provider whose people sign in to its console. */
export async function loginScene({ environment, ...options }: SignInGatewayOptions = {}): Promise<LoginScene> {
  const authorization = await authorizationServer({ offersRegistration: false, clients: [consoleClient] });
  const gateway = await signInGateway({ environment: { ...environmentFor(authorization.url), ...environment }, ...options });
  return { authorization, gateway };
}

/** Follows the pages of the provider as a person does, until one that asks nothing. */
export async function throughProvider(browser: ScriptedBrowser, first: BrowserPage, account: string): Promise<BrowserPage> {
  let page = first;
  for (;;) {
    const fields = page.forms[0]?.fields ?? {};
    if ('account' in fields && 'password' in fields) page = await browser.submit(page, { account, password: passwordOf(account) });
    // Another account than before: the provider ends that one's session first.
    else if ('xsrf' in fields) page = await browser.submit(page, {});
    else if (page.text.startsWith('May ')) page = await browser.submit(page, {}, 'Yes');
    else return page;
  }
}

/** From the page of the console at `returnTo` to the page that the person is at in the end. */
export async function logIn(browser: ScriptedBrowser, url: string, account: string, returnTo = '/console/runs'): Promise<BrowserPage> {
  return throughProvider(browser, await browser.open(`${url}/login?return_to=${encodeURIComponent(returnTo)}`), account);
}

const own = { 'x-toolwharf-console': '1' };

/** As the console's page asks. */
export const askToken = (browser: ScriptedBrowser, page: Pick<BrowserPage, 'url' | 'headers'>): Promise<ScriptAnswer> =>
  browser.send(page, 'POST /login/token', own);
export const logOut = (browser: ScriptedBrowser, page: Pick<BrowserPage, 'url' | 'headers'>): Promise<ScriptAnswer> =>
  browser.send(page, 'POST /logout', own);

export function tokenIn({ status, body }: ScriptAnswer): JsonObject & { access_token: string } {
  expect([status, body]).toEqual([200, expect.any(String)]);
  return JSON.parse(body) as JsonObject & { access_token: string };
}
