import type { Caller } from '../callers/caller.ts';
import type { FurtherScopes } from './credentials.ts';
import type { StoredSignIn } from '../stores/sign-in-store.ts';

/** A link that waits for its person. */
export interface OpenSignIn extends StoredSignIn {
  /** The secret part of the link. */
  link: string;
}

/** The tool server as the page of a link shows it. `basic`: it asks for user and password. `oauth`: people sign in at its authorization server. */
export interface SignInServer {
  id: string;
  name: string;
  asks: 'key' | 'basic' | 'oauth';
}

/** What a browser takes to an authorization server. */
export interface LeavingBrowser {
  /** The page of the authorization server. */
  location: string;
  /** For this browser alone: without it the sign-in cannot be finished. */
  cookie: { name: string; value: string };
}

/** A browser that comes back from an authorization server. */
interface ReturningBrowser {
  /** What follows the address at which it comes back, for an authorization server that has one of its own. */
  issuerMark: string | undefined;
  cookieOf: (name: string) => string | undefined;
  /** The caller of this id; undefined when their key is gone. */
  callerOf: (id: string) => Promise<Caller | undefined>;
}

/** How a sign-in ended that this browser began. */
interface FinishedSignIn {
  server: SignInServer;
  caller: Caller;
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
   * @throws GatewayError `conflict` if the link was used meanwhile, and as `OwnCredentials.save`
   */
  enterKey(signIn: OpenSignIn, caller: Caller, key: string): Promise<void>;
  /** What the sign-in asks for beyond the last one of this caller; undefined if nothing. */
  furtherScopes(caller: Caller, server: string): Promise<FurtherScopes | undefined>;
  /**
   * The origin of the page where people sign in, for which the tool server and its authorization server are asked; undefined if they have not answered
   * after `waitMs`. Their answer is there for the next call, and for `begin`.
   * @throws GatewayError if they cannot say
   */
  whereToSignIn(caller: Caller, server: string, waitMs: number): Promise<string | undefined>;
  /**
   * Prepares a sign-in, then uses the link up: a server that does not answer costs no link. `address`: as for `makeLink`.
   * @throws GatewayError `conflict` if the link was used meanwhile or there is no address, and as `whereToSignIn`
   */
  begin(signIn: OpenSignIn, caller: Caller, address: string | undefined): Promise<LeavingBrowser>;
  /**
   * Finishes a sign-in with the answer of the authorization server, and stores its tokens. Its `state` is used up, unless another browser comes with it.
   * @throws GatewayError `not_found` for a `state` that is unknown, used, or older than ten minutes; `forbidden` for another browser, and for an answer
   * that is no consent or of another authorization server; and as `OwnCredentials.saveSignIn`
   */
  finish(answer: URLSearchParams, browser: ReturningBrowser): Promise<FinishedSignIn>;
}
