import type { ComponentChildren, JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Button } from '../button.tsx';
import { fieldOf, initialValue, resolveSchema } from './json-schema.ts';
import type { Field, JsonSchema } from './json-schema.ts';
import { ChoicesInput, JsonField, renderInput } from './schema-inputs.tsx';

interface SchemaFormProps {
  schema: JsonSchema;
  value: unknown;
  /** Undefined if a field is empty or does not contain JSON. */
  onChange: (value: unknown) => void;
}

/**
 * A form for a value that matches a JSON Schema, such as the arguments of a function. Alternatives, maps and deep nesting are edited as JSON, and so can the
 * whole value. The browser checks the fields when their `<form>` is submitted, and the gateway checks everything.
 */
export function SchemaForm({ schema, value, onChange }: SchemaFormProps): JSX.Element {
  const [isJson, setJson] = useState(false);
  const root = resolveSchema(schema, schema);
  const field = fieldOf(root, schema);
  if (field.kind === 'object' && Object.keys(field.properties).length === 0) return <p class="soft">No arguments.</p>;
  return (
    <div class="schema-form">
      {isJson || field.kind === 'json' ? (
        <JsonField value={value} onChange={onChange} label="Arguments as JSON" />
      ) : field.kind === 'object' ? (
        <Properties field={field} value={value} onChange={onChange} root={schema} depth={0} />
      ) : (
        <SchemaField name={root.title ?? 'Value'} schema={root} root={schema} value={value} onChange={onChange} isRequired depth={0} />
      )}
      {field.kind !== 'json' && (
        <Button isSmall isPressed={isJson} onClick={() => setJson(!isJson)}>
          Edit as JSON
        </Button>
      )}
    </div>
  );
}

interface SchemaFieldProps {
  name: string;
  schema: JsonSchema;
  root: JsonSchema;
  value: unknown;
  onChange: (value: unknown) => void;
  isRequired: boolean;
  depth: number;
}

function Properties({
  field,
  value,
  onChange,
  root,
  depth,
}: { field: Field & { kind: 'object' }; root: JsonSchema } & Pick<SchemaFieldProps, 'value' | 'onChange' | 'depth'>): JSX.Element {
  const current = typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
  const change = (name: string, entry: unknown): void => {
    const { [name]: _before, ...others } = current;
    onChange(entry === undefined ? others : { ...current, [name]: entry });
  };
  const names = Object.keys(field.properties).toSorted(
    (one, other) => Number(field.required.includes(other)) - Number(field.required.includes(one)),
  );
  return (
    <>
      {names.map((name) => (
        <SchemaField
          key={name}
          name={name}
          schema={field.properties[name] ?? {}}
          root={root}
          value={Object.hasOwn(current, name) ? current[name] : undefined}
          onChange={(entry) => change(name, entry)}
          isRequired={field.required.includes(name)}
          depth={depth + 1}
        />
      ))}
    </>
  );
}

function SchemaField({ name, schema: given, root, value, onChange, isRequired, depth }: SchemaFieldProps): JSX.Element {
  const id = useId();
  const schema = resolveSchema(given, root);
  const field = fieldOf(schema, root, depth);
  const about = schema.description;
  const shown = { id, name, schema, value, onChange, isRequired, describedBy: about === undefined ? undefined : `${id}-about` };
  if (field.kind === 'object' || field.kind === 'list' || field.kind === 'choices')
    return (
      <fieldset class="field group">
        <legend>
          <Title name={name} schema={schema} isRequired={isRequired} />
        </legend>
        {about !== undefined && <p class="about">{about}</p>}
        {field.kind === 'object' ? (
          <Properties field={field} value={value} onChange={onChange} root={root} depth={depth} />
        ) : field.kind === 'choices' ? (
          <ChoicesInput choices={field.choices} schema={schema} value={value} onChange={onChange} isRequired={isRequired} />
        ) : (
          <List items={field.items} root={root} value={value} onChange={onChange} depth={depth} />
        )}
      </fieldset>
    );
  if (field.kind === 'flag')
    return (
      <div class="field flag">
        <input
          id={id}
          type="checkbox"
          checked={value === true}
          aria-describedby={shown.describedBy}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        <label for={id}>
          <Title name={name} schema={schema} isRequired={false} />
        </label>
        <About id={shown.describedBy}>{about}</About>
      </div>
    );
  return (
    <div class="field">
      <label for={id}>
        <Title name={name} schema={schema} isRequired={isRequired} />
      </label>
      {renderInput(field, shown)}
      <About id={shown.describedBy}>{about}</About>
    </div>
  );
}

function Title({ name, schema, isRequired }: { name: string; schema: JsonSchema; isRequired: boolean }): JSX.Element {
  return (
    <>
      {schema.title ?? name}
      {isRequired && (
        <span class="required" aria-hidden="true">
          {' *'}
        </span>
      )}
    </>
  );
}

function About({ id, children }: { id: string | undefined; children: ComponentChildren }): JSX.Element | null {
  return id === undefined ? null : (
    <p class="about" id={id}>
      {children}
    </p>
  );
}

function List({
  items,
  root,
  value,
  onChange,
  depth,
}: { items: JsonSchema; root: JsonSchema } & Pick<SchemaFieldProps, 'value' | 'onChange' | 'depth'>): JSX.Element {
  const entries = Array.isArray(value) ? (value as unknown[]) : [];
  return (
    <div class="list">
      {entries.map((entry, index) => (
        <div key={index} class="list-entry">
          <SchemaField
            name={`${index + 1}`}
            schema={items}
            root={root}
            value={entry}
            onChange={(changed) => onChange(entries.with(index, changed ?? null))}
            isRequired={false}
            depth={depth + 1}
          />
          <Button
            kind="quiet"
            isSmall
            icon="trash"
            label={`Remove item ${index + 1}`}
            onClick={() => onChange(entries.toSpliced(index, 1))}
          />
        </div>
      ))}
      <Button isSmall icon="add" onClick={() => onChange([...entries, initialValue(items, root) ?? null])}>
        Add
      </Button>
    </div>
  );
}
