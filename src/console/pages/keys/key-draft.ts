import type { AnswerOf, BodyOf } from '../../api/api-types.ts';

export type Key = AnswerOf<'GET /api/keys'>['data'][number];
export type KeyBody = BodyOf<'POST /api/keys'>;
type Users = NonNullable<KeyBody['users']>;

export const limitNames = ['requests_per_minute', 'concurrent_runs', 'tokens_per_day'] as const;
/** As typed. Empty: no limit. */
export type LimitTexts = Record<(typeof limitNames)[number], string>;

/** A key as it is edited in the form. */
export interface KeyDraft {
  name: string;
  /** `people`: a frontend that acts for several people. */
  kind: 'user' | 'people' | 'admin';
  from: 'header' | 'jwt';
  /** The header that identifies the person. */
  header: string;
  nameHeader: string;
  emailHeader: string;
  /** Tokens are signed with a secret, or with keys that are published at a URL. */
  signedBy: 'secret' | 'jwks';
  /** Empty: unchanged. */
  secret: string;
  jwksUrl: string;
  issuer: string;
  audience: string;
  claim: string;
  limits: LimitTexts;
  totalLimits: LimitTexts;
  models: readonly string[] | undefined;
  tools: readonly string[] | undefined;
  /** The last valid day, such as `2026-11-30`. Empty: no expiry. */
  lastDay: string;
}

const openWebUi = { header: 'x-openwebui-user-id', jwt: 'x-openwebui-user-jwt' };

export const idHeaders: Readonly<Record<KeyDraft['from'], string>> = openWebUi;

export function emptyDraft(isFirst: boolean): KeyDraft {
  const noLimits = limitTexts(null);
  return {
    name: isFirst ? 'administrator' : '',
    kind: isFirst ? 'admin' : 'user',
    from: 'header',
    header: openWebUi.header,
    nameHeader: '',
    emailHeader: '',
    signedBy: 'secret',
    secret: '',
    jwksUrl: '',
    issuer: '',
    audience: '',
    claim: 'sub',
    limits: noLimits,
    totalLimits: noLimits,
    models: undefined,
    tools: undefined,
    lastDay: '',
  };
}

export function toDraft({ name, role, users, limits, total_limits: total, models, tools, expires_at: expires }: Key): KeyDraft {
  return {
    ...emptyDraft(false),
    name,
    kind: users !== null ? 'people' : role,
    ...(users !== null && { from: users.from, header: users.name }),
    ...(users?.from === 'header' && { nameHeader: users.name_header ?? '', emailHeader: users.email_header ?? '' }),
    ...(users?.from === 'jwt' && {
      signedBy: users.has_secret ? 'secret' : 'jwks',
      jwksUrl: users.jwks_url ?? '',
      issuer: users.issuer ?? '',
      audience: users.audience ?? '',
      claim: users.claim,
    }),
    limits: limitTexts(limits),
    totalLimits: limitTexts(total),
    models: models ?? undefined,
    tools: tools ?? undefined,
    lastDay: expires?.slice(0, 10) ?? '',
  };
}

/** `null` removes a restriction. An unchanged expiry or secret is left out, so that it stays. */
export function toBody(draft: KeyDraft, before: KeyDraft): KeyBody {
  const { name, kind, models, tools, lastDay } = draft;
  return {
    name,
    role: kind === 'admin' ? 'admin' : 'user',
    users: kind === 'people' ? toUsers(draft) : null,
    limits: toLimits(draft.limits),
    total_limits: kind === 'people' ? toLimits(draft.totalLimits) : null,
    models: models === undefined ? null : [...models],
    tools: tools === undefined ? null : [...tools],
    ...(lastDay !== before.lastDay && { expires_at: lastDay === '' ? null : `${lastDay}T23:59:59Z` }),
  };
}

function toUsers({ from, header: name, nameHeader, emailHeader, signedBy, secret, jwksUrl, issuer, audience, claim }: KeyDraft): Users {
  if (from === 'header') return { from, name, name_header: nameHeader || null, email_header: emailHeader || null };
  const proof = signedBy === 'jwks' ? { jwks_url: jwksUrl } : secret === '' ? {} : { secret };
  return { from, name, claim, issuer: issuer || null, audience: audience || null, ...proof };
}

function limitTexts(limits: Key['limits']): LimitTexts {
  const textOf = (name: keyof LimitTexts): string => String(limits?.[name] ?? '');
  return {
    requests_per_minute: textOf('requests_per_minute'),
    concurrent_runs: textOf('concurrent_runs'),
    tokens_per_day: textOf('tokens_per_day'),
  };
}

function toLimits(texts: LimitTexts): KeyBody['limits'] {
  const set = limitNames.flatMap((name) => (texts[name] === '' ? [] : [[name, Number(texts[name])] as const]));
  return set.length === 0 ? null : Object.fromEntries(set);
}
