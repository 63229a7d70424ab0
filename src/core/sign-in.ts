import type { Caller } from './caller.ts';
import type { StoredSignIn } from './sign-in-store.ts';

/** A link that waits for its person. */
export interface OpenSignIn extends StoredSignIn {
  /** The secret part of the link. */
  link: string;
}

/** The tool server as the page of a link shows it. `basic`: it asks for user and password. */
export interface SignInServer {
  id: string;
  name: string;
  asks: 'key' | 'basic';
}

/** Single-use links with which a person connects to a tool server that asks each person for a credential of their own. */
export interface SignIns {
  /**
   * Makes a link for this caller and server. `address`: where people reach the gateway (`http/public-address.ts`). `expires`: milliseconds since 1970.
   * @throws GatewayError `conflict`, naming PUBLIC_URL, without an address; `not_found` for a server that asks nobody, or that the caller may not use
   */
  makeLink(caller: Caller, server: string, address: string | undefined): Promise<{ url: string; expires: number }>;
  /** Changes nothing, because previews of links fetch them too. @throws GatewayError `not_found` for an unknown or expired link, `conflict` for a used one */
  find(link: string): Promise<OpenSignIn>;
  /** @throws GatewayError `not_found` if the caller may no longer use it */
  serverOf(caller: Caller, server: string): Promise<SignInServer>;
  /**
   * Uses the link up and stores the key that its person has entered.
   * @throws GatewayError `conflict` if the link was used meanwhile, and as `OwnCredentials.keep`
   */
  enterKey(signIn: OpenSignIn, caller: Caller, key: string): Promise<void>;
}
