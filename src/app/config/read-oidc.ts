import { z } from 'zod';
import { toLimits } from '../../admin/stored-keys.ts';
import { callerLimits } from '../../http/routes/access/keys.ts';
import type { OidcSettings } from '../../policy/oidc-callers.ts';
import { ConfigError } from './config-error.ts';
import { readSection, type ConfigFile } from './config-file.ts';
import type { SettingsReader } from './read-settings.ts';

const authSchema = z
  .strictObject({
    oidc: z
      .strictObject({
        // Read as settings, because the environment may have them too.
        issuer: z.unknown().optional(),
        audience: z.unknown().optional(),
        client_id: z.unknown().optional(),
        client_secret: z.unknown().optional(),
        scopes: z.unknown().optional(),
        admins: z.strictObject({ claim: z.string().min(1), value: z.string().min(1) }).optional(),
        limits: callerLimits.optional(),
      })
      .optional(),
  })
  .default({});

/** The section `auth`, with the variables that begin with `OIDC_`. @throws ConfigError */
export function readOidc(settings: SettingsReader, file: ConfigFile | undefined): OidcSettings | undefined {
  const { oidc: section } = readSection(file, authSchema, {
    name: 'auth',
    cure: 'write it as oidc: {issuer, audience, client_id, client_secret, scopes, admins: {claim, value}, limits: {tokens_per_day}}, where only the first two are needed',
  });
  const [issuer, audience] = [settings.read('OIDC_ISSUER'), settings.read('OIDC_AUDIENCE')];
  const [id, secret] = [settings.read('OIDC_CLIENT_ID'), settings.read('OIDC_CLIENT_SECRET')];
  if ([issuer, audience, id, secret, section].every((value) => value === undefined)) return undefined;
  if (issuer === undefined)
    throw new ConfigError(
      'OIDC_ISSUER (auth.oidc.issuer) is not set; set it to the address of your OpenID provider, as its tokens name it.',
    );
  if (audience === undefined)
    throw new ConfigError(
      'OIDC_AUDIENCE (auth.oidc.audience) is not set; set it to the name of this API at your OpenID provider, so that tokens for other programs are refused.',
    );
  const { admins, limits } = section ?? {};
  return {
    issuer,
    audience,
    ...(admins !== undefined && { admins }),
    ...(limits !== undefined && { limits: toLimits(limits) }),
    ...withClient(settings, { id, secret, audience }),
  };
}

function withClient(
  settings: SettingsReader,
  { id, secret, audience }: { id: string | undefined; secret: string | undefined; audience: string },
): Pick<OidcSettings, 'client'> {
  if (id === undefined && secret !== undefined)
    throw new ConfigError(
      'OIDC_CLIENT_ID (auth.oidc.client_id) is not set, but OIDC_CLIENT_SECRET is; set the id of the client whose secret that is.',
    );
  if (id === undefined) return {};
  // With one name for both, ID tokens, which say who has signed in to a program, would open the API.
  if (id === audience)
    throw new ConfigError(
      'OIDC_CLIENT_ID is the same as OIDC_AUDIENCE; register the API at your OpenID provider beside the client that people sign in to, and set OIDC_AUDIENCE to its name.',
    );
  const scopes = settings.read('OIDC_SCOPES');
  return { client: { id, ...(secret !== undefined && { secret }), scopes: scopes.includes('openid') ? scopes : ['openid', ...scopes] } };
}
