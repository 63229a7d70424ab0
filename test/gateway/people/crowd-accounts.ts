import { createHash, randomBytes } from 'node:crypto';
import type { OutboundRequest, OutboundResponse } from '../../../src/core/outbound.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import type { BrowserPage, ScriptedBrowser } from '../../_support/scripted-browser.ts';
import { jsonResponse } from '../../tools/scripted-send.ts';
import type { ScriptedAnswer } from '../../tools/scripted-send.ts';

/** The authorization server of the crowd: whoever signs in has one account there. Its refresh tokens are good once. */
export interface CrowdAccounts {
  /** Of the gateway's requests to it, by address. */
  answers: Record<string, ScriptedAnswer>;
  /** In a connection. */
  settings: { clientId: string; authorizeUrl: string; tokenUrl: string };
  /** Whose access token a request bears, as long as it is good. */
  accountOf(request: OutboundRequest): string | undefined;
  /** Opens a link of the gateway, signs in with the account, and comes back. */
  signIn(link: string, account: string): Promise<SignedIn>;
  /** How many tokens were refreshed. */
  refreshed(): number;
}

interface SignedIn {
  page: BrowserPage;
  browser: ScriptedBrowser;
  /** The way back, which is good once. */
  callback: string;
}

const issuer = 'http://accounts.test';
const signInPage: Pick<BrowserPage, 'url' | 'headers'> = { url: `${issuer}/authorize`, headers: {} };

/** `tokenSeconds`: short, so that tokens are refreshed in between the chats. */
export function crowdAccounts({ tokenSeconds, fault }: { tokenSeconds: number; fault: (what: string) => void }): CrowdAccounts {
  const codes = new Map<string, { account: string; challenge: string; redirectUri: string }>();
  const grants = new Map<string, string>();
  const spent = new Set<string>();
  const tokens = new Map<string, { account: string; until: number }>();
  let refreshes = 0;

  function grant(account: string): OutboundResponse {
    const accessToken = randomBytes(16).toString('hex');
    const refreshToken = randomBytes(16).toString('hex');
    // Longer than it says: what was sent in time may come late.
    tokens.set(accessToken, { account, until: Date.now() + (tokenSeconds + 10) * 1_000 });
    grants.set(refreshToken, account);
    const answer = { access_token: accessToken, refresh_token: refreshToken, token_type: 'Bearer', expires_in: tokenSeconds };
    return jsonResponse(answer);
  }

  function refuse(why: string): OutboundResponse {
    fault(`The authorization server refuses: ${why}`);
    return jsonResponse({ error: 'invalid_grant' }, 400);
  }

  async function answerToken({ body }: OutboundRequest): Promise<OutboundResponse> {
    const asked = new URLSearchParams(typeof body === 'string' ? body : Buffer.from(body as Uint8Array).toString());
    const of = (name: string): string => asked.get(name) ?? '';
    if (of('grant_type') === 'refresh_token') {
      const account = grants.get(of('refresh_token'));
      if (account === undefined || spent.has(of('refresh_token'))) return refuse(`the refresh token of ${account} was used twice`);
      spent.add(of('refresh_token'));
      refreshes += 1;
      return grant(account);
    }
    const code = codes.get(of('code'));
    codes.delete(of('code'));
    const challenge = createHash('sha256').update(of('code_verifier')).digest('base64url');
    if (code === undefined || code.challenge !== challenge || code.redirectUri !== of('redirect_uri'))
      return refuse('the code is not good');
    return grant(code.account);
  }

  return {
    answers: {
      [`${issuer}/.well-known/oauth-authorization-server`]: {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
      },
      [`${issuer}/token`]: answerToken,
    },
    settings: { clientId: 'crowd', authorizeUrl: `${issuer}/authorize`, tokenUrl: `${issuer}/token` },
    accountOf({ headers }) {
      const token = tokens.get(String(headers?.['authorization']).replace('Bearer ', ''));
      return token !== undefined && token.until > Date.now() ? token.account : undefined;
    },
    async signIn(link, account) {
      const browser = scriptedBrowser();
      browser.refuseTo(issuer);
      const opened = await browser.open(link);
      if (opened.status !== 200) throw new Error(`The link shows: ${opened.text}`);
      const isHere = (error: unknown): void => {
        if (!browser.lastTried().startsWith(issuer)) throw error;
      };
      await browser.submit(opened).catch(isHere);
      const asked = new URL(browser.lastTried()).searchParams;
      const [code, redirectUri] = [randomBytes(16).toString('hex'), asked.get('redirect_uri') ?? ''];
      codes.set(code, { account, challenge: asked.get('code_challenge') ?? '', redirectUri });
      const callback = `${redirectUri}?${new URLSearchParams({ code, state: asked.get('state') ?? '', iss: issuer }).toString()}`;
      return { page: await browser.follow(signInPage, callback), browser, callback };
    },
    refreshed: () => refreshes,
  };
}
