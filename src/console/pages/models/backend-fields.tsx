import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { MoreFields } from '../../parts/forms/more-fields.tsx';
import { WithCode } from '../../parts/text/with-code.tsx';
import { usualUrls, withChoice } from './backend-draft.ts';
import type { BackendChoice, BackendDraft } from './backend-draft.ts';
import type { FieldFault } from './field-fault.ts';

const choices: readonly (readonly [BackendChoice, string, string])[] = [
  ['ollama', 'Ollama', 'On this machine or another one.'],
  ['openai', 'OpenAI', 'GPT models. Needs an API key.'],
  ['anthropic', 'Anthropic', 'Claude models. Needs an API key.'],
  ['compatible', 'Another server', 'Any OpenAI-compatible API: vLLM, llama.cpp, LM Studio, OpenRouter, …'],
];
/** Not offered for new backends: OpenAI's own server chooses between its APIs by itself. */
const responsesChoice = ['openai-responses', 'OpenAI Responses', 'A server with OpenAI’s Responses API.'] as const;

const placeholders: Record<BackendChoice, string> = {
  ...usualUrls,
  compatible: 'http://127.0.0.1:8000/v1',
  'openai-responses': 'https://…/v1',
};
const usesLocalKey: ReadonlySet<BackendChoice> = new Set(['ollama', 'compatible', 'openai-responses']);
/** Fields that are folded away at first. */
const moreFields = ['id', 'prefix', 'urls', 'models', 'max_concurrent', 'queue', 'fallbacks'];

/** The fields that refusals can be shown beside. */
export const faultFields: ReadonlySet<string> = new Set(['url', 'key', ...moreFields]);

interface BackendFieldsProps {
  draft: BackendDraft;
  set: (draft: BackendDraft) => void;
  fault: FieldFault | undefined;
  /** Undefined: a new backend. */
  stored: { hasKey: boolean } | undefined;
}

/** All fields of a backend. */
export function BackendFields({ draft, set, fault, stored }: BackendFieldsProps): JSX.Element {
  const { choice, url, otherUrls, id, prefix, models, maxConcurrent, queue, fallbacks } = draft;
  const bind = (name: keyof BackendDraft) => ({ onChange: (value: string) => set({ ...draft, [name]: value }), fault });
  // Opens them once more if a refusal is about one of them, and leaves them alone while a person types.
  const [openings, setOpenings] = useState(0);
  const isFaultFolded = fault !== undefined && moreFields.includes(fault.field);
  useEffect(() => {
    if (isFaultFolded) setOpenings((before) => before + 1);
  }, [fault]);
  const isMoreUsed = [otherUrls, prefix, models, maxConcurrent, queue, fallbacks].some((text) => text !== '');
  const offered = stored !== undefined && choice === 'openai-responses' ? [...choices, responsesChoice] : choices;
  return (
    <>
      <fieldset class="field group">
        <legend>Provider</legend>
        <div class="models-choices">
          {offered.map(([value, label, about]) => (
            <div key={value} class="field flag">
              <input
                type="radio"
                name="choice"
                id={`choice-${value}`}
                aria-describedby={`about-${value}`}
                checked={choice === value}
                onChange={() => set(withChoice(draft, value))}
              />
              <label for={`choice-${value}`}>{label}</label>
              <span class="about" id={`about-${value}`}>
                {about}
              </span>
            </div>
          ))}
        </div>
      </fieldset>
      <TextField
        label="URL"
        field="url"
        value={url}
        {...bind('url')}
        isRequired
        placeholder={placeholders[choice]}
        about={choice === 'ollama' ? 'Without /v1.' : 'Up to and including /v1.'}
      />
      <KeyField draft={draft} set={set} fault={fault} stored={stored} />
      <MoreFields key={openings} summary="More options" isUsed={isMoreUsed || openings > 0}>
        <div class="stack">
          <div class="fields">
            {stored === undefined && (
              <TextField label="ID" field="id" value={id} {...bind('id')} placeholder="From the kind" about="Its name in lists and logs." />
            )}
            <TextField label="Prefix" field="prefix" value={prefix} {...bind('prefix')} about="Precedes its models’ IDs: cloud/gpt-5." />
            <TextField
              label="Concurrent requests"
              field="max_concurrent"
              type="number"
              value={maxConcurrent}
              {...bind('maxConcurrent')}
              placeholder="No limit"
              about="To each address. Others wait in a queue."
            />
            <TextField label="Queue length" field="queue" type="number" value={queue} {...bind('queue')} placeholder="100" />
          </div>
          <LinesField
            label="Fallback models"
            field="fallbacks"
            value={fallbacks}
            {...bind('fallbacks')}
            about="IDs of models that answer while this backend fails. One on each line, the first choice first."
          />
          <LinesField
            label="Only these models"
            field="models"
            value={models}
            {...bind('models')}
            about="By the server’s own names, one on each line. Needed if the server has no list of models."
          />
          <LinesField
            label="More addresses"
            field="urls"
            value={otherUrls}
            {...bind('otherUrls')}
            about="Servers with the same models share the work. One URL on each line."
          />
        </div>
      </MoreFields>
    </>
  );
}

function KeyField({ draft, set, fault, stored }: BackendFieldsProps): JSX.Element {
  const hasKey = stored?.hasKey === true;
  return (
    <>
      <TextField
        label={usesLocalKey.has(draft.choice) && !hasKey ? 'API key (optional)' : 'API key'}
        field="key"
        type="password"
        value={draft.key}
        onChange={(key) => set({ ...draft, key })}
        fault={fault}
        isDisabled={draft.isKeyRemoved}
        placeholder={hasKey ? 'Unchanged' : ''}
        about="Stored encrypted, sent only to this server, and never shown again."
      />
      {hasKey && (
        <label class="field flag">
          <input
            type="checkbox"
            checked={draft.isKeyRemoved}
            onChange={({ currentTarget: { checked } }) => set({ ...draft, isKeyRemoved: checked, key: '' })}
          />
          Remove the stored key
        </label>
      )}
    </>
  );
}

interface FieldProps {
  label: string;
  /** The name of the field in the API. */
  field: string;
  value: string;
  onChange: (value: string) => void;
  fault: FieldFault | undefined;
  about?: string;
}

interface TextFieldProps extends FieldProps {
  type?: 'text' | 'password' | 'number';
  placeholder?: string;
  isRequired?: boolean;
  isDisabled?: boolean;
}

function TextField({ type = 'text', placeholder, isRequired, isDisabled, ...props }: TextFieldProps): JSX.Element {
  const { label, value, onChange } = props;
  const input = useRef<HTMLInputElement>(null);
  const { text, ids } = useFault(props, input);
  return (
    <div class="field">
      <label for={ids.input}>{label}</label>
      <input
        ref={input}
        id={ids.input}
        type={type}
        {...(type === 'number' && { min: 0, step: 1, inputMode: 'numeric' as const })}
        value={value}
        required={isRequired}
        disabled={isDisabled}
        placeholder={placeholder}
        aria-invalid={text !== undefined}
        aria-describedby={ids.about}
        onInput={(event) => onChange(event.currentTarget.value)}
        autocomplete="off"
        spellcheck={false}
      />
      <About id={ids.about} label={label} fault={text} about={props.about} />
    </div>
  );
}

function LinesField(props: FieldProps): JSX.Element {
  const { label, value, onChange } = props;
  const input = useRef<HTMLTextAreaElement>(null);
  const { text, ids } = useFault(props, input);
  return (
    <div class="field">
      <label for={ids.input}>{label}</label>
      <textarea
        ref={input}
        id={ids.input}
        class="code"
        rows={2}
        value={value}
        aria-invalid={text !== undefined}
        aria-describedby={ids.about}
        onInput={(event) => onChange(event.currentTarget.value)}
        autocomplete="off"
        spellcheck={false}
      />
      <About id={ids.about} label={label} fault={text} about={props.about} />
    </div>
  );
}

/** A refused field gets the focus. */
function useFault({ fault, field }: FieldProps, input: { current: HTMLElement | null }) {
  const id = useId();
  const text = fault?.field === field ? fault.text : undefined;
  useEffect(() => {
    if (text !== undefined) input.current?.focus();
  }, [fault]);
  return { text, ids: { input: id, about: `${id}-about` } };
}

interface AboutProps {
  id: string;
  label: string;
  fault: string | undefined;
  about: string | undefined;
}

function About({ id, label, fault, about }: AboutProps): JSX.Element {
  return (
    <p id={id} class={fault === undefined ? 'about' : 'about bad'} role={fault === undefined ? undefined : 'alert'}>
      {fault === undefined ? about : <WithCode text={`${label} ${fault}${/[.!?]$/.test(fault) ? '' : '.'}`} />}
    </p>
  );
}
