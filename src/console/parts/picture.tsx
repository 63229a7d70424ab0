import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';

interface PictureProps {
  /** A `data:` URL. */
  src: string;
  alt: string;
}

/** An image that opens large. */
export function Picture({ src, alt }: PictureProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="picture" title="Show large" onClick={() => setOpen(true)}>
        <img src={src} alt={alt} loading="lazy" />
      </button>
      {isOpen && (
        <Dialog title={alt} kind="picture" onClose={() => setOpen(false)}>
          <img src={src} alt={alt} />
        </Dialog>
      )}
    </>
  );
}
