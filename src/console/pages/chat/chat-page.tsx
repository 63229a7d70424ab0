import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { inputRequests, connection } from '../../api/session.ts';
import type { Model } from '../../api/api-types.ts';
import { useQuery } from '../../api/use-query.ts';
import type { PageProps } from '../../shell/page.ts';
import { setTitle } from '../../shell/title.ts';
import { Button } from '../../parts/button.tsx';
import { ModelChoice } from '../../parts/forms/model-choice.tsx';
import { Empty, Loading } from '../../parts/states.tsx';
import { showError } from '../../parts/toasts.tsx';
import { ChatHead } from './chat-head.tsx';
import { ChatOptions } from './chat-options.tsx';
import { branchOf } from './state/chat.ts';
import type { Attachment, ChatSettings, Message } from './state/chat.ts';
import { Composer } from './composer.tsx';
import { MessageView } from './messages/message-view.tsx';
import { readModel, saveModel } from './state/drafts.ts';
import { knownModels } from './state/models.ts';
import { newChat, openChat } from './state/open-chats.ts';
import type { OpenChat } from './state/open-chat.ts';
import { browserServers } from './state/browser-servers.ts';
import { InputRequests } from './messages/input-requests.tsx';
import { Scroll } from './scroll.tsx';
import { Welcome } from './welcome.tsx';

/** Chats with the models of the gateway. */
export function ChatPage({ params: { id } }: PageProps): JSX.Element {
  const [open, setOpen] = useState<OpenChat | 'missing'>();
  // Before anything is painted or typed, or the previous chat would get what is typed.
  useLayoutEffect(() => {
    let isCurrent = true;
    if (id === undefined) setOpen(newChat());
    else if (typeof open !== 'object' || open.chat.value.id !== id)
      openChat(id).then(
        (found) => isCurrent && setOpen(found ?? 'missing'),
        (error: unknown) => isCurrent && (setOpen('missing'), showError(error)),
      );
    return () => void (isCurrent = false);
  }, [id]);
  const isOther = typeof open === 'object' && id !== undefined && open.chat.value.id !== id;
  if (open === undefined || isOther) return <Loading />;
  if (open === 'missing') return <NoSuchChat />;
  return <OpenedChat key={open.chat.value.id} open={open} id={id} />;
}

function NoSuchChat(): JSX.Element {
  useEffect(() => setTitle('Chat not found'), []);
  return (
    <Empty icon="chat" title="This chat is not in this browser" isPage>
      <p>Chats are stored only in the browser where they were started.</p>
      <p>
        <Link href="/">Start a new chat</Link>
      </p>
    </Empty>
  );
}

function OpenedChat({ open, id }: { open: OpenChat; id: string | undefined }): JSX.Element {
  const [, go] = useLocation();
  const chat = open.chat.value;
  const [settings, setSettings] = useState<ChatSettings>(() => ({
    ...(id === undefined && settingsIn(location.search)),
    ...chat.settings,
  }));
  const { models, model } = useModel(settings);
  const isRunning = open.running.value !== undefined;
  const branch = branchOf(chat);
  const runId = open.running.value?.runId;
  const requests = inputRequests.value.filter(({ data }) => runId !== undefined && data['run_id'] === runId);
  // Distinguishes browser tabs and entries of the history.
  useEffect(() => setTitle(id === undefined ? 'Chat' : chat.title), [id, chat.title]);
  const chosen = { ...settings, ...(model !== undefined && { model }) };
  const send = (text: string, attachments: readonly Attachment[] = []): void => {
    open.send({ text, attachments }, chosen);
    if (id === undefined) go(`/console/chats/${chat.id}`);
  };
  return (
    <div class="chat">
      {branch.length > 0 && <ChatHead open={open} />}
      <Scroll running={open.running.value?.id} isEmpty={branch.length === 0}>
        {branch.length === 0 ? (
          <Welcome toolIds={settings.toolIds} onAsk={(question) => send(question)} />
        ) : (
          <ol class="chat-messages">
            {branch.map((message) => (
              <MessageView key={message.id} message={message} open={open} settings={chosen} />
            ))}
          </ol>
        )}
      </Scroll>
      <div class="chat-end">
        {connection.value === 'waiting' && isRunning && (
          <p class="chat-connection small" role="status">
            <span class="spinner" /> Connection lost. Reconnecting…
          </p>
        )}
        <InputRequests requests={requests} />
        <Composer chatId={id} isRunning={isRunning} onSend={send} onCancel={() => open.cancel()}>
          <SettingsControls models={models} model={model} settings={settings} branch={branch} onChange={setSettings} />
        </Composer>
      </div>
    </div>
  );
}

/** The chosen model of a chat, else the one that was chosen last, else the first. */
function useModel(settings: ChatSettings): { models: readonly Model[] | undefined; model: string | undefined } {
  const models = useQuery('GET /api/models', { isCached: true }).data?.data;
  useEffect(() => {
    if (models !== undefined) knownModels.value = models;
  }, [models]);
  const last = models?.find(({ id }) => id === readModel());
  return { models, model: settings.model ?? (last ?? models?.[0])?.id };
}

interface SettingsControlsProps {
  models: readonly Model[] | undefined;
  model: string | undefined;
  settings: ChatSettings;
  branch: readonly Message[];
  onChange: (settings: ChatSettings) => void;
}

function SettingsControls({ models, model, settings, branch, onChange }: SettingsControlsProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const shown = toolsLabel(settings);
  // The name begins with the visible text, so that speech input finds the button.
  const label = shown === 'Tools' ? 'Tools and options' : `${shown} (tools and options)`;
  return (
    <>
      <ModelChoice
        class="chat-model"
        models={models}
        model={model}
        onChange={(chosen) => {
          onChange({ ...settings, model: chosen });
          saveModel(chosen);
        }}
      />
      <Button kind="quiet" isSmall icon="tool" label={label} onClick={() => setOpen(true)}>
        {shown}
      </Button>
      {isOpen && <ChatOptions settings={settings} model={model} branch={branch} onChange={onChange} onClose={() => setOpen(false)} />}
    </>
  );
}

/** The settings in a link to a new chat, such as `/?model=clerk`. */
function settingsIn(search: string): ChatSettings {
  const model = new URLSearchParams(search).get('model');
  return model === null ? {} : { model };
}

function toolsLabel({ toolIds }: ChatSettings): string {
  const inBrowser = browserServers.value.filter(({ isOn }) => isOn).length;
  const chosen = toolIds === undefined ? 'Tools' : toolIds.length === 0 ? 'No tools' : `Tools: ${toolIds.length}`;
  return inBrowser === 0 ? chosen : `${chosen} + ${inBrowser} in this browser`;
}
