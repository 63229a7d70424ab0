import type { ComponentChildren, JSX } from 'preact';
import { useQuery } from '../../api/use-query.ts';
import { Choices, toolChoices } from '../../parts/forms/choices.tsx';
import { MoreFields } from '../../parts/forms/more-fields.tsx';
import { idHeaders, limitNames } from './key-draft.ts';
import type { KeyDraft, LimitTexts } from './key-draft.ts';

const kinds = [
  ['user', 'A program or a person', 'Can chat and call tools, but change nothing.'],
  ['people', 'A frontend with many users', 'Each user has their own chats, limits and accounts.'],
  ['admin', 'An administrator', 'Can change everything.'],
] as const;

interface FieldsProps {
  draft: KeyDraft;
  set: (changes: Partial<KeyDraft>) => void;
}

export interface KeyFieldsProps extends FieldsProps {
  /** It must be for an administrator. */
  isFirst: boolean;
  /** There is a secret, which stays if no new one is entered. */
  hasSecret: boolean;
}

/** All fields of a key. */
export function KeyFields({ draft, set, isFirst, hasSecret }: KeyFieldsProps): JSX.Element {
  const isPeople = draft.kind === 'people';
  return (
    <>
      <TextField label="Name" value={draft.name} onChange={(name) => set({ name })} isRequired isFirst about="To recognize it later." />
      <fieldset class="field group">
        <legend>For</legend>
        {kinds.map(([kind, label, about]) => (
          <label key={kind} class="field flag">
            <input
              type="radio"
              name="kind"
              checked={draft.kind === kind}
              disabled={isFirst && kind !== 'admin'}
              onChange={() => set({ kind })}
            />
            {label}
            <span class="about">{about}</span>
          </label>
        ))}
      </fieldset>
      {isPeople && <PeopleFields draft={draft} set={set} hasSecret={hasSecret} />}
      <MoreFields summary="Limits and permissions" isUsed={hasRestrictions(draft)}>
        <div class="stack">
          <LimitFields legend={isPeople ? 'Limits per person' : 'Limits'} limits={draft.limits} onChange={(limits) => set({ limits })} />
          {isPeople && (
            <LimitFields
              legend="Limits for everyone together"
              limits={draft.totalLimits}
              onChange={(totalLimits) => set({ totalLimits })}
            />
          )}
          <PermissionFields draft={draft} set={set} />
          <label class="field">
            Last valid day
            <input type="date" value={draft.lastDay} onInput={(event) => set({ lastDay: event.currentTarget.value })} />
            <span class="about">The key expires at the end of that day (UTC). Leave empty for no expiry.</span>
          </label>
        </div>
      </MoreFields>
    </>
  );
}

function hasRestrictions({ limits, totalLimits, models, tools, lastDay }: KeyDraft): boolean {
  const isLimited = [limits, totalLimits].some((texts) => Object.values(texts).some((text) => text !== ''));
  return isLimited || models !== undefined || tools !== undefined || lastDay !== '';
}

const limitLabels: Record<keyof LimitTexts, string> = {
  requests_per_minute: 'Requests per minute',
  concurrent_runs: 'Concurrent answers',
  tokens_per_day: 'Tokens per day',
};

function LimitFields({
  legend,
  limits,
  onChange,
}: {
  legend: string;
  limits: LimitTexts;
  onChange: (limits: LimitTexts) => void;
}): JSX.Element {
  return (
    <fieldset class="field group">
      <legend>{legend}</legend>
      <div class="fields">
        {limitNames.map((name) => (
          <label key={name} class="field">
            {limitLabels[name]}
            <input
              type="number"
              min={1}
              step={1}
              inputMode="numeric"
              placeholder="No limit"
              value={limits[name]}
              onInput={(event) => onChange({ ...limits, [name]: event.currentTarget.value })}
            />
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function PermissionFields({ draft: { models, tools }, set }: FieldsProps): JSX.Element {
  const knownModels = useQuery('GET /api/models');
  const knownTools = useQuery('GET /api/tools');
  return (
    <>
      <Choices
        legend="Models"
        all="All models"
        choices={knownModels.data?.data.map(({ id, name }) => ({ value: id, label: name })) ?? []}
        chosen={models}
        onChange={(chosen) => set({ models: chosen })}
      />
      <Choices
        legend="Tools"
        all="All tools"
        choices={toolChoices(knownTools.data?.data ?? [])}
        chosen={tools}
        onChange={(chosen) => set({ tools: chosen })}
      />
    </>
  );
}

function PeopleFields({ draft, set, hasSecret }: FieldsProps & { hasSecret: boolean }): JSX.Element {
  const { from } = draft;
  const choose = (other: KeyDraft['from']): void =>
    // A custom header name stays.
    set({ from: other, ...(draft.header === idHeaders[from] && { header: idHeaders[other] }) });
  return (
    <fieldset class="field group">
      <legend>Identify people by</legend>
      <label class="field flag">
        <input type="radio" name="from" checked={from === 'header'} onChange={() => choose('header')} />A header
        <span class="about">
          Open WebUI sends it with <code>ENABLE_FORWARD_USER_INFO_HEADERS=true</code>. Anyone who has the key can claim to be anyone.
        </span>
      </label>
      <label class="field flag">
        <input type="radio" name="from" checked={from === 'jwt'} onChange={() => choose('jwt')} />A signed token
        <span class="about">
          Can’t be forged. Open WebUI signs it with <code>FORWARD_USER_INFO_HEADER_JWT_SECRET</code>.
        </span>
      </label>
      <TextField
        label={from === 'header' ? 'Header with the user ID' : 'Header with the token'}
        value={draft.header}
        onChange={(header) => set({ header })}
        isRequired
      />
      {from === 'jwt' ? (
        <TokenFields draft={draft} set={set} hasSecret={hasSecret} />
      ) : (
        <MoreFields summary="Names and email addresses" isUsed={draft.nameHeader !== '' || draft.emailHeader !== ''}>
          <div class="fields">
            <TextField
              label="Header with the name"
              value={draft.nameHeader}
              onChange={(nameHeader) => set({ nameHeader })}
              placeholder="x-openwebui-user-name"
            />
            <TextField
              label="Header with the email address"
              value={draft.emailHeader}
              onChange={(emailHeader) => set({ emailHeader })}
              placeholder="x-openwebui-user-email"
            />
          </div>
        </MoreFields>
      )}
    </fieldset>
  );
}

/** The minimum for HS256 (RFC 7518, 3.2). */
const secretCharacters = 32;

function TokenFields({ draft, set, hasSecret }: FieldsProps & { hasSecret: boolean }): JSX.Element {
  const { signedBy } = draft;
  return (
    <>
      <div class="choices" role="radiogroup" aria-label="Signed with">
        <label>
          <input type="radio" name="signed" checked={signedBy === 'secret'} onChange={() => set({ signedBy: 'secret' })} /> A secret (HS256)
        </label>
        <label>
          <input type="radio" name="signed" checked={signedBy === 'jwks'} onChange={() => set({ signedBy: 'jwks' })} /> A published key
          (RS256, ES256)
        </label>
      </div>
      {signedBy === 'secret' ? (
        <TextField
          label="Secret"
          type="password"
          value={draft.secret}
          onChange={(secret) => set({ secret })}
          isRequired={!hasSecret}
          minLength={secretCharacters}
          {...(hasSecret && { placeholder: 'unchanged' })}
          about={`The same secret as in the frontend, at least ${secretCharacters} characters. It is never shown again.`}
        />
      ) : (
        <TextField
          label="JWKS URL"
          type="url"
          value={draft.jwksUrl}
          onChange={(jwksUrl) => set({ jwksUrl })}
          isRequired
          placeholder="https://login.example.com/jwks.json"
        />
      )}
      <MoreFields summary="Token checks" isUsed={draft.issuer !== '' || draft.audience !== '' || draft.claim !== 'sub'}>
        <div class="fields">
          <TextField label="Issuer" value={draft.issuer} onChange={(issuer) => set({ issuer })} placeholder="Any" />
          <TextField label="Audience" value={draft.audience} onChange={(audience) => set({ audience })} placeholder="Any" />
          <TextField label="Claim with the user ID" value={draft.claim} onChange={(claim) => set({ claim })} isRequired />
        </div>
      </MoreFields>
    </>
  );
}

interface TextFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  type?: 'text' | 'password' | 'url';
  isRequired?: boolean;
  /** Focused when the form opens. */
  isFirst?: boolean;
  minLength?: number;
  placeholder?: string;
  about?: ComponentChildren;
}

function TextField({
  label,
  value,
  onChange,
  type = 'text',
  isRequired,
  isFirst,
  minLength,
  placeholder,
  about,
}: TextFieldProps): JSX.Element {
  return (
    <label class="field">
      {label}
      <input
        type={type}
        required={isRequired}
        autofocus={isFirst}
        minLength={minLength}
        placeholder={placeholder}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
        autocomplete={type === 'password' ? 'new-password' : 'off'}
        spellcheck={false}
      />
      {about !== undefined && <span class="about">{about}</span>}
    </label>
  );
}
