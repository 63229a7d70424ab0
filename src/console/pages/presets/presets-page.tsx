import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { mayAdminister } from '../../api/access.ts';
import type { AnswerOf, Preset } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { Loaded, Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { showToast, showError } from '../../parts/toasts.tsx';
import { PresetDialog } from './preset-dialog.tsx';

type Listed = AnswerOf<'GET /api/presets'>['data'][number];

/** Models with their own prompt, tools and parameters, which chats select by name. */
export function PresetsPage(): JSX.Element {
  const query = useQuery('GET /api/presets');
  const [edited, setEdited] = useState<Partial<Preset>>();
  return (
    <div class="page presets">
      <header>
        <h1>Presets</h1>
        {mayAdminister.value === true && (
          <Button kind="main" icon="add" onClick={() => setEdited({})}>
            New preset
          </Button>
        )}
      </header>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="preset" title="No presets yet">
              <p>
                A preset is a model with its own prompt and tools, such as a clerk or a researcher. Chats and clients select it like any
                other model.
              </p>
            </Empty>
          ) : (
            <PresetTable presets={data} onEdit={setEdited} onChanged={query.reload} />
          )
        }
      </Loaded>
      {edited !== undefined && (
        <PresetDialog
          preset={edited}
          onClose={() => setEdited(undefined)}
          onSaved={() => {
            setEdited(undefined);
            query.reload();
          }}
        />
      )}
    </div>
  );
}

interface PresetTableProps {
  presets: readonly Listed[];
  onEdit: (preset: Listed) => void;
  onChanged: () => void;
}

function PresetTable({ presets, onEdit, onChanged }: PresetTableProps): JSX.Element {
  const mayChange = mayAdminister.value === true;
  const remove = async ({ id, name }: Listed): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Delete ${name ?? id}?`,
      text: 'It disappears from the list of models, and clients that use it get an error.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await call('DELETE /api/presets/:id', { params: { id } });
    showToast(`${name ?? id} was deleted.`);
    onChanged();
  };
  const actions = (preset: Listed): JSX.Element => (
    <span class="row">
      {mayChange && preset.origin === 'file' && <span class="soft small">toolwharf.yaml</span>}
      <Link class="button plain small" href={`/?model=${encodeURIComponent(preset.id)}`} aria-label={`Chat with ${preset.id}`}>
        Chat
      </Link>
      {mayChange && preset.origin === 'database' && (
        <>
          <Button isSmall label={`Edit ${preset.id}`} onClick={() => onEdit(preset)}>
            Edit
          </Button>
          <Button isSmall kind="quiet" icon="trash" label={`Delete ${preset.id}`} onClick={() => void remove(preset).catch(showError)} />
        </>
      )}
    </span>
  );
  return (
    <Table<Listed>
      label="Presets"
      rows={presets}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Preset', cell: Named },
        { title: 'Model', cell: ({ base_model: model }) => model },
        ...(mayChange ? [{ title: 'Tools', isBelow: true, cell: toolsOf }] : []),
        { title: 'Description', isBelow: true, cell: ({ description }) => description ?? '' },
        { title: 'Actions', isActions: true, cell: actions },
      ]}
    />
  );
}

function Named({ id, name }: Listed): JSX.Element {
  return (
    <>
      {name ?? id}
      {name !== null && name !== id && <div class="soft small">{id}</div>}
    </>
  );
}

function toolsOf({ origin, tools }: Listed): string {
  // Only administrators see the tools of a preset.
  if (origin === undefined) return '';
  if (tools === undefined || tools === null) return 'default tools';
  return tools.length === 0 ? 'none' : tools.map((entry) => entry.replace(/^server:/, '')).join(', ');
}
