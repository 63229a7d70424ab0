import type { JSX } from 'preact';
import { Button } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Picture } from '../../parts/picture.tsx';
import type { Attachment } from './state/chat.ts';

interface AttachedFilesProps {
  files: readonly Attachment[];
  /** Absent if the files have been sent. */
  onRemove?: (file: Attachment) => void;
}

/** The images and text files of a question. */
export function AttachedFiles({ files, onRemove }: AttachedFilesProps): JSX.Element | null {
  if (files.length === 0) return null;
  return (
    <ul class="attached" aria-label="Attached files">
      {files.map((file, index) => (
        <li key={index} class={file.kind}>
          {file.kind === 'picture' ? (
            <Picture src={file.url} alt={file.name} />
          ) : (
            <span class="chip">
              <Icon name="attach" size={13} />
              {file.name}
            </span>
          )}
          {onRemove !== undefined && (
            <Button kind="quiet" isSmall icon="close" label={`Remove ${file.name}`} onClick={() => onRemove(file)} />
          )}
        </li>
      ))}
    </ul>
  );
}
