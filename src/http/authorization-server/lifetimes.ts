const minuteMs = 60 * 1_000;
const dayMs = 24 * 60 * minuteMs;

/** Access tokens. */
export const accessTokenMs = 60 * minuteMs;
/** From consent to the exchange of the code, which programs do at once. */
export const codeMs = minuteMs;
/** A request for consent: time to sign in, or to find a key. */
export const requestMs = 10 * minuteMs;
/** A refresh token that is not used: a program that somebody uses once a quarter stays connected. */
export const refreshTokenMs = 90 * dayMs;
/** How long a refresh token is remembered after its use, to recognize a second use. */
export const usedTokenMs = 2 * dayMs;
/** The consent of somebody with a key, which ends with the key. */
export const grantMs = 365 * dayMs;
/** The consent of somebody who has signed in by OpenID: the gateway is not told when the provider locks them out. */
export const signedInGrantMs = 30 * dayMs;
