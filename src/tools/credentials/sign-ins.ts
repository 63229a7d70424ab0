import { hash, randomBytes } from 'node:crypto';
import type { Caller } from '../../core/caller.ts';
import type { OwnCredentials } from '../../core/credentials.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { OpenSignIn, SignIns } from '../../core/sign-in.ts';
import type { SignInStore } from '../../core/sign-in-store.ts';

export interface SignInsOptions {
  store: SignInStore;
  credentials: Pick<OwnCredentials, 'keep' | 'serverOf'>;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** 256 bits, which nobody can guess. */
const linkBytes = 32;

export function createSignIns({ store, credentials, now }: SignInsOptions): SignIns {
  const bounds = { maxOfCaller: limits.signInsPerCaller, max: limits.signIns, maxCharacters: limits.signInsCharacters };

  return {
    async makeLink(caller, server, address) {
      const record = await credentials.serverOf(caller, server);
      if (address === undefined) throw addressNeeded();
      const link = randomBytes(linkBytes).toString('base64url');
      const time = now();
      const expires = time + limits.signInLinkMs;
      const { name, email } = caller.person ?? {};
      const person = { ...(name !== undefined && { name }), ...(email !== undefined && { email }) };
      await store.add({ id: idOf(link), callerId: caller.id, server: record.id, person, expires }, { ...bounds, time });
      return { url: `${address}/connect/${link}`, expires };
    },

    async find(link) {
      const signIn = await store.find(idOf(link), now());
      if (signIn === undefined) throw unknownLink();
      if (signIn.isUsed) throw usedLink();
      return { ...signIn, link };
    },

    async serverOf(caller, server) {
      const { id, name = id, authType } = await credentials.serverOf(caller, server);
      return { id, name, asks: asksFor(authType) };
    },

    async enterKey({ id, server }: OpenSignIn, caller: Caller, key: string) {
      // Before the link is used up.
      await credentials.serverOf(caller, server);
      if (!(await store.use(id, now()))) throw usedLink();
      await credentials.keep(caller, server, key);
    },
  };
}

function asksFor(authType: ToolServerRecord['authType']): 'key' | 'basic' {
  return authType === 'basic' ? 'basic' : 'key';
}

function idOf(link: string): string {
  return hash('sha256', link, 'base64url');
}

function addressNeeded(): GatewayError {
  return new GatewayError(
    'conflict',
    'The gateway does not know the address at which people reach it, so it cannot make a link. Set PUBLIC_URL to that address, such as https://chat.example.com.',
  );
}

/** The same for a link that was made up and for one that has expired, which nobody can tell apart. */
function unknownLink(): GatewayError {
  return new GatewayError(
    'not_found',
    'Nothing can be connected by this link. It is complete only as it stands in the chat, and good for 24 hours. Ask for a new one there.',
  );
}

function usedLink(): GatewayError {
  return new GatewayError(
    'conflict',
    'This link was used, and it is good once. If it was you, go back to your chat, or ask for a new one there. If it was not, tell whoever runs this gateway.',
  );
}
