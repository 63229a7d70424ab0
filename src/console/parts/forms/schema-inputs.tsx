import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EnumOption, Field, JsonSchema } from './json-schema.ts';
import { isLongWhole, parseJson } from '../text/parse-json.ts';

interface InputProps {
  id: string;
  name: string;
  schema: JsonSchema;
  value: unknown;
  onChange: (value: unknown) => void;
  isRequired: boolean;
  describedBy: string | undefined;
}

/** An input for a single value, or for JSON. */
export function renderInput(field: Field, { id, name, schema, value, onChange, isRequired, describedBy }: InputProps): JSX.Element {
  const common = { id, name, required: isRequired, 'aria-describedby': describedBy };
  if (field.kind === 'choice') return <ChoiceInput choices={field.choices} common={common} value={value} onChange={onChange} />;
  if (field.kind === 'number')
    return (
      <input
        {...common}
        type="number"
        step={field.isWhole ? 1 : 'any'}
        min={schema.minimum}
        max={schema.maximum}
        value={typeof value === 'number' || (typeof value === 'string' && isLongWhole(value)) ? value : ''}
        placeholder={exampleOf(schema)}
        onInput={(event) => onChange(numberIn(event.currentTarget))}
      />
    );
  if (field.kind === 'moment') return <MomentInput common={common} value={value} onChange={onChange} />;
  if (field.kind !== 'text') return <JsonField id={id} value={value} onChange={onChange} label={name} isRequired={isRequired} />;
  return <TextInput field={field} common={common} schema={schema} value={value} onChange={onChange} />;
}

function numberIn({ value, valueAsNumber }: HTMLInputElement): number | string | undefined {
  if (value === '') return undefined;
  return isLongWhole(value) ? value : valueAsNumber;
}

type TextInputProps = { field: Field & { kind: 'text' }; common: object } & Pick<InputProps, 'schema' | 'value' | 'onChange'>;

function TextInput({ field, common, schema, value, onChange }: TextInputProps): JSX.Element {
  const text = typeof value === 'string' ? value : '';
  const problem = lengthProblem(text, schema);
  const refer = (element: HTMLInputElement | HTMLTextAreaElement | null): void => element?.setCustomValidity(problem);
  const shared = {
    ...common,
    // A required text may be empty if the schema says so.
    ...(schema.minLength === 0 && { required: false }),
    value: text,
    placeholder: exampleOf(schema),
    onInput: (event: { currentTarget: { value: string } }) =>
      onChange(event.currentTarget.value === '' ? undefined : event.currentTarget.value),
  };
  return field.isLong ? (
    <textarea {...shared} ref={refer} rows={3} />
  ) : (
    <input {...shared} ref={refer} type={schema.writeOnly === true ? 'password' : field.inputType} autoComplete="off" spellcheck={false} />
  );
}

/** JSON Schema counts code points. HTML's `minlength` counts code units, and only applies to typed text. */
function lengthProblem(text: string, { minLength = 0, maxLength = Infinity }: JsonSchema): string {
  const { length } = Array.from(text);
  if (length > 0 && length < minLength) return `Enter at least ${minLength} characters.`;
  return length > maxLength ? `Enter at most ${maxLength} characters. This text has ${length}.` : '';
}

function exampleOf({ examples, default: usual }: JsonSchema): string | undefined {
  const example = examples?.[0] ?? usual;
  return typeof example === 'string' || typeof example === 'number' ? String(example) : undefined;
}

function ChoiceInput({
  choices,
  common,
  value,
  onChange,
}: {
  choices: readonly EnumOption[];
  common: object;
  value: unknown;
  onChange: (value: unknown) => void;
}): JSX.Element {
  const chosen = choices.findIndex((choice) => JSON.stringify(choice.value) === JSON.stringify(value));
  return (
    <select
      {...common}
      value={chosen === -1 ? '' : String(chosen)}
      onChange={(event) => onChange(choices[Number(event.currentTarget.value || -1)]?.value)}
    >
      <option value="" aria-label="Not selected" />
      {choices.map((choice, index) => (
        <option key={index} value={String(index)}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}

/** A local time, stored as RFC 3339 text. */
function MomentInput({ common, value, onChange }: { common: object } & Pick<InputProps, 'value' | 'onChange'>): JSX.Element {
  const moment = typeof value === 'string' ? new Date(value) : undefined;
  const isKnown = moment !== undefined && !Number.isNaN(moment.getTime());
  const local = isKnown ? new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16) : '';
  return (
    <input
      {...common}
      type="datetime-local"
      value={local}
      onInput={({ currentTarget: { value: given } }) => onChange(given === '' ? undefined : new Date(given).toISOString())}
    />
  );
}

interface ChoicesInputProps extends Pick<InputProps, 'schema' | 'value' | 'onChange' | 'isRequired'> {
  choices: readonly EnumOption[];
}

/** Several checkboxes. HTML has no rule for how many must be checked, so the first one reports the error. */
export function ChoicesInput({ choices, schema, value, onChange, isRequired }: ChoicesInputProps): JSX.Element {
  const chosen = Array.isArray(value) ? (value as unknown[]) : [];
  const problem = value === undefined && !isRequired ? '' : countProblem(chosen.length, schema);
  const refer = (element: HTMLInputElement | null): void => element?.setCustomValidity(problem);
  return (
    <div class="choices">
      {choices.map((choice, index) => (
        <label key={index}>
          <input
            ref={index === 0 ? refer : null}
            type="checkbox"
            checked={chosen.includes(choice.value)}
            onChange={(event) =>
              onChange(event.currentTarget.checked ? [...chosen, choice.value] : chosen.filter((one) => one !== choice.value))
            }
          />
          {choice.label}
        </label>
      ))}
    </div>
  );
}

function countProblem(count: number, { minItems = 0, maxItems = Infinity }: JsonSchema): string {
  if (count < minItems) return `Select at least ${minItems}.`;
  return count > maxItems ? `Select at most ${maxItems}.` : '';
}

/** A value as JSON text. Invalid JSON is reported and keeps the form from being submitted. */
export function JsonField({
  id,
  value,
  onChange,
  label,
  isRequired,
}: {
  id?: string;
  value: unknown;
  onChange: (value: unknown) => void;
  label: string;
  isRequired?: boolean;
}): JSX.Element {
  const [draft, setDraft] = useState<{ text: string; of: unknown }>();
  const text =
    draft !== undefined && JSON.stringify(draft.of) === JSON.stringify(value)
      ? draft.text
      : value === undefined
        ? ''
        : JSON.stringify(value, null, 2);
  const [problem, setProblem] = useState('');
  const change = (element: HTMLTextAreaElement): void => {
    try {
      const parsed: unknown = element.value.trim() === '' ? undefined : parseJson(element.value);
      element.setCustomValidity('');
      setProblem('');
      setDraft({ text: element.value, of: parsed });
      onChange(parsed);
    } catch (error) {
      const message = `Invalid JSON: ${(error as Error).message}`;
      element.setCustomValidity(message);
      setProblem(message);
      setDraft({ text: element.value, of: value });
    }
  };
  return (
    <>
      <textarea
        id={id}
        class="code"
        rows={Math.min(16, Math.max(3, text.split('\n').length))}
        spellcheck={false}
        aria-label={id === undefined ? label : undefined}
        aria-invalid={problem === '' ? undefined : true}
        required={isRequired === true}
        value={text}
        onInput={(event) => change(event.currentTarget)}
      />
      {problem !== '' && (
        <p class="about bad" role="status">
          {problem}
        </p>
      )}
    </>
  );
}
