import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../../core/errors.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { OAuthClient, SharedToken } from './oauth/oauth-client.ts';
import type { Refusal } from '../definitions/own-use.ts';

/** The tokens with which the gateway signs in as itself (`oauth.grant: "client_credentials"`): one for each server, in memory, as a new one costs nobody a sign-in. */
interface SharedTokens {
  /** @throws GatewayError when there is none to be had */
  tokenFor(record: ToolServerRecord, refusal?: Refusal): Promise<string>;
}

interface HeldToken {
  record: ToolServerRecord;
  token: Promise<SharedToken>;
}

/** As many servers as one list of connections has. */
const maxServers = 1_000;

export function createSharedTokens(oauth: Pick<OAuthClient, 'ownToken'>, now: () => number): SharedTokens {
  const tokens = new LRUCache<string, HeldToken>({ max: maxServers });

  function request(record: ToolServerRecord): HeldToken {
    const entry: HeldToken = { record, token: oauth.ownToken(record) };
    tokens.set(record.id, entry);
    entry.token.catch(() => {
      if (tokens.peek(record.id) === entry) tokens.delete(record.id);
    });
    return entry;
  }

  /** Requests at the same moment wait for the same token. */
  async function good(record: ToolServerRecord, refused: string | undefined): Promise<string> {
    for (;;) {
      const known = tokens.get(record.id);
      // A changed connection is another one.
      const entry = known !== undefined && isDeepStrictEqual(known.record, record) ? known : request(record);
      const { accessToken, refreshFrom = Infinity } = await entry.token;
      const isNew = entry !== known;
      if (accessToken !== refused && (isNew || refreshFrom > now())) return accessToken;
      if (isNew) throw refusedToken(record);
      if (tokens.peek(record.id) === entry) tokens.delete(record.id);
    }
  }

  return {
    async tokenFor(record, refusal) {
      if (refusal?.isFinal === true) throw refusedToken(record);
      return good(record, refusal?.key);
    },
  };
}

function refusedToken({ id }: ToolServerRecord): GatewayError {
  return new GatewayError(
    'upstream_auth_failed',
    `The tool server "${id}" rejects the token that its authorization server has just issued to the gateway. Check oauth.scopes and oauth.resource of the tool server.`,
  );
}
