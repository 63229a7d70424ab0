import { z } from 'zod';
import { GatewayError } from '../../../core/errors.ts';
import type { PeopleRule } from '../../../core/callers/people.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { headerName } from '../../../shared/text/header-name.ts';

/** What a header that names a person must not be. */
const credentialHeaders: ReadonlySet<string> = new Set(['authorization', 'x-api-key', 'cookie', 'proxy-authorization', 'host', 'origin']);
const nameOfHeader = z
  .string()
  .max(128, 'must be the name of a header')
  .regex(headerName, 'must be the name of a header')
  .refine((name) => !credentialHeaders.has(name.toLowerCase()), 'carries the key itself. Name another header');
/** RFC 7518, section 3.2: at least as many bits as the hash has. */
const tokenSecret = z.string().min(32, 'must have at least 32 characters').max(1_024);
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).max(2_048);
/** `users` of a key, as administrators send it. */
export const peopleRule = z.discriminatedUnion(
  'from',
  [
    z.strictObject({
      from: z.literal('header'),
      name: nameOfHeader,
      name_header: nameOfHeader.nullish(),
      email_header: nameOfHeader.nullish(),
    }),
    z.strictObject({
      from: z.literal('jwt'),
      name: nameOfHeader,
      secret: tokenSecret.nullish(),
      jwks_url: httpUrl.nullish(),
      issuer: z.string().min(1).max(2_048).nullish(),
      audience: z.string().min(1).max(2_048).nullish(),
      claim: z.string().min(1).max(256).default('sub'),
    }),
  ],
  'must be an object as in {"from": "header", "name": "x-openwebui-user-id"}, or with "from": "jwt"',
);

/** A secret that is left out stays. @throws GatewayError `invalid_request` */
export function toPeopleRule(sent: z.infer<typeof peopleRule>, before: PeopleRule | undefined): PeopleRule {
  if (sent.from === 'header') {
    const { name, name_header: nameHeader, email_header: emailHeader } = sent;
    return { from: 'header', name, ...(nameHeader && { nameHeader }), ...(emailHeader && { emailHeader }) };
  }
  const { name, claim, issuer, audience, jwks_url: jwksUrl } = sent;
  const kept = before?.from === 'jwt' && !jwksUrl ? before.secret : undefined;
  const secret = sent.secret ?? kept;
  if ((secret === undefined) === !jwksUrl)
    throw new GatewayError('invalid_request', 'users: name either the secret that tokens are signed with, or the jwks_url of their keys.', {
      param: 'users.secret',
    });
  return {
    from: 'jwt',
    name,
    claim,
    ...(secret !== undefined && { secret }),
    ...(jwksUrl && { jwksUrl }),
    ...(issuer && { issuer }),
    ...(audience && { audience }),
  };
}

/** Without the secret. */
export function toUsersWire(rule: PeopleRule): JsonObject {
  if (rule.from === 'header')
    return { from: 'header', name: rule.name, name_header: rule.nameHeader ?? null, email_header: rule.emailHeader ?? null };
  const { name, claim, jwksUrl = null, issuer = null, audience = null, secret } = rule;
  return { from: 'jwt', name, claim, jwks_url: jwksUrl, issuer, audience, has_secret: secret !== undefined };
}
