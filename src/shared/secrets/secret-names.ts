import { LRUCache } from 'lru-cache';

const secretWords = new Set(
  'auth authorization bearer cookie cookies jwt key keys otp pass pat pin psk pwd sig signature oauthclientinfo'.split(' '),
);
/** Also within one word, as in `githubtoken`. */
const secretEnding = /(?:token|secret|passwo?r?d|passphrase|passcode|apikey|accesskey|secretkey|privatekey|credential)s?$/;
/** Keys that open nothing. */
const openKeys = new Set(['public', 'primary', 'foreign', 'sort', 'cache', 'partition']);
/** `secret_value` and `password2` name what stands before. */
const trailing = /^(?:value|plain|text|pem|base64|hex|hash|raw|current|old|new|\d+)$/;

const longestJudged = 100;
/** Names that were judged already: a program has few different ones. */
const judged = new LRUCache<string, boolean>({ max: 1_000 });

/** Whether what stands under this name is most likely a credential: `token`, `client_secret`, `X-Api-Key`, `dbPassword`; not `token_url`. */
export function isSecretName(name: string): boolean {
  const known = judged.get(name);
  if (known !== undefined) return known;
  const isSecret = judge(wordsOf(name));
  if (name.length <= longestJudged) judged.set(name, isSecret);
  return isSecret;
}

/** The words of `client_secret`, `client-secret` and `clientSecret`, in lower case. */
export function wordsOf(name: string): string[] {
  return name
    .slice(-longestJudged)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([a-z])(\d)/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

function judge(words: string[]): boolean {
  const last = words.findLastIndex((word) => !trailing.test(word));
  const word = words[last];
  if (word === undefined) return false;
  if (/^keys?$/.test(word) && openKeys.has(words[last - 1] ?? '')) return false;
  const joined = words.slice(0, last + 1).join('');
  return secretWords.has(word) || secretWords.has(joined) || secretEnding.test(joined);
}
