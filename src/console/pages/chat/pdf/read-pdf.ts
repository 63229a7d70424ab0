import { startWorker } from '../../../workers.ts';

export interface PdfJob {
  data: ArrayBuffer;
  maxPages: number;
  maxCharacters: number;
}

export type PdfText = { type: 'text'; text: string; pages: number; allPages: number } | { type: 'failed'; isLocked: boolean };

const maxBytes = 20_000_000;
const maxPages = 500;
const maxMs = 60_000;

/**
 * The text of a PDF, page after page, as far as it fits.
 * @throws Error that says what can be attached instead
 */
export async function readPdf(file: File, maxCharacters: number): Promise<string> {
  const { name, size } = file;
  if (size > maxBytes) throw new Error(`${name} is too large. PDFs can have up to ${maxBytes / 1_000_000} MB.`);
  const read = await readAside({ data: await file.arrayBuffer(), maxPages, maxCharacters });
  if (read === undefined) throw new Error(`${name} takes too long to read. Attach only the relevant pages.`);
  if (read.type === 'failed')
    throw new Error(read.isLocked ? `${name} is protected by a password. Attach a copy without one.` : `${name} can’t be read as a PDF.`);
  const { text, pages, allPages } = read;
  if (pages === 0) throw new Error(`${name} has more text on its first page than fits into a question.`);
  if (text === '') throw new Error(`${name} contains no text. If it is a scan, attach its pages as images.`);
  return pages === allPages ? text : `${text}\n\n[The first ${pages} of ${allPages} pages.]`;
}

/** Undefined if it takes too long. */
function readAside(job: PdfJob): Promise<PdfText | undefined> {
  const worker = startWorker('pdf');
  return new Promise<PdfText | undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), maxMs);
    worker.addEventListener('message', ({ data }: MessageEvent<PdfText | { type?: undefined }>) => {
      // pdf.js takes the worker for its own, and greets the page too.
      if (data.type === undefined) return;
      clearTimeout(timer);
      resolve(data);
    });
    worker.addEventListener('error', () => resolve({ type: 'failed', isLocked: false }));
    worker.postMessage(job, [job.data]);
  }).finally(() => worker.terminate());
}
