/** Reads the text of a PDF. In a worker that can send nothing, because the file may be hostile; the page ends it when it takes too long. */
import { getDocumentProxy } from 'unpdf';
import type { PdfJob, PdfText } from './read-pdf.ts';

const page = globalThis as {
  postMessage: (message: PdfText) => void;
  addEventListener: (type: 'message', listener: (event: { data: PdfJob }) => void) => void;
};

async function read({ data, maxPages, maxCharacters }: PdfJob): Promise<PdfText> {
  const pdf = await getDocumentProxy(new Uint8Array(data));
  const pages = Math.min(pdf.numPages, maxPages);
  const texts: string[] = [];
  let length = 0;
  for (let number = 1; number <= pages && length <= maxCharacters; number += 1) {
    const { items } = await (await pdf.getPage(number)).getTextContent();
    const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
    length += text.length;
    if (length <= maxCharacters) texts.push(text.trim());
  }
  return { type: 'text', text: texts.join('\n\n').trim(), pages: texts.length, allPages: pdf.numPages };
}

page.addEventListener('message', ({ data: job }) => {
  read(job).then(
    (text) => page.postMessage(text),
    (error: unknown) => page.postMessage({ type: 'failed', isLocked: (error as { name?: unknown }).name === 'PasswordException' }),
  );
});
