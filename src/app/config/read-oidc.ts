import { z } from 'zod';
import type { OidcSettings } from '../../policy/oidc-callers.ts';
import { ConfigError } from './config-error.ts';
import { readSection } from './config-file.ts';
import type { ConfigFile } from './config-file.ts';
import type { SettingsReader } from './read-settings.ts';

const authSchema = z
  .strictObject({
    oidc: z
      .strictObject({
        // Read as settings, because the environment may have them too.
        issuer: z.unknown().optional(),
        audience: z.unknown().optional(),
        admins: z.strictObject({ claim: z.string().min(1), value: z.string().min(1) }).optional(),
      })
      .optional(),
  })
  .default({});

/** The section `auth`, with `OIDC_ISSUER` and `OIDC_AUDIENCE`. @throws ConfigError */
export function readOidc(settings: SettingsReader, file: ConfigFile | undefined): OidcSettings | undefined {
  const { oidc: section } = readSection(file, authSchema, {
    name: 'auth',
    cure: 'write it as oidc: {issuer, audience, admins: {claim, value}}, without admins if no token shall make an administrator',
  });
  const [issuer, audience] = [settings.read('OIDC_ISSUER'), settings.read('OIDC_AUDIENCE')];
  if (issuer === undefined && audience === undefined && section === undefined) return undefined;
  if (issuer === undefined)
    throw new ConfigError(
      'OIDC_ISSUER (auth.oidc.issuer) is not set; set it to the address of your OpenID provider, as its tokens name it.',
    );
  if (audience === undefined)
    throw new ConfigError(
      'OIDC_AUDIENCE (auth.oidc.audience) is not set; set it to the name of this API at your OpenID provider, so that tokens for other programs are refused.',
    );
  const { admins } = section ?? {};
  return { issuer, audience, ...(admins !== undefined && { admins }) };
}
