import type { Attachment } from './state/chat.ts';

/** The longer side of an image in pixels. Models do not use more. */
const maxSide = 1_280;
/** An image up to this size that fits is sent unchanged. */
const smallBytes = 150_000;
/** A message with the whole chat may have one megabyte. */
const maxTextBytes = 300_000;

/** @throws Error that says what can be attached instead */
export async function readAttachment(file: File): Promise<Attachment> {
  const { name, type, size } = file;
  if (/^image\/(?:png|jpeg|gif|webp|avif)$/.test(type)) return { kind: 'picture', name, url: await readImage(file) };
  if (await isPdf(file)) {
    const { readPdf } = await import('./pdf/read-pdf.ts');
    const content = await readPdf(file, maxTextBytes);
    return { kind: 'text', name, content: content.toWellFormed() };
  }
  if (size > maxTextBytes)
    throw new Error(`${name} is too large. Text files can have up to ${maxTextBytes / 1_000} kB. Attach only the relevant part.`);
  const content = await readText(file);
  if (content === undefined) throw new Error(`${name} isn’t plain text. You can attach images, PDFs and text files.`);
  return { kind: 'text', name, content };
}

/** Its beginning decides, whatever it is called. */
async function isPdf(file: File): Promise<boolean> {
  return (await file.slice(0, 5).text()) === '%PDF-';
}

async function readText(file: File): Promise<string | undefined> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return undefined;
  }
}

/** Returns a `data:` URL. Large images are scaled down. */
async function readImage(file: File): Promise<string> {
  const image = await createImageBitmap(file).catch(() => {
    throw new Error(`${file.name} can’t be read as an image.`);
  });
  const { width, height } = image;
  const scale = Math.min(1, maxSide / Math.max(width, height));
  if (scale === 1 && file.size <= smallBytes && /png|jpeg/.test(file.type)) return toDataUrl(file);
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale)));
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('This browser can’t resize images.');
  // JPEG has no transparency, so transparent pixels would become black.
  context.fillStyle = 'white';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return toDataUrl(await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.85 }));
}

function toDataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(reader.result as string));
    reader.addEventListener('error', () => reject(reader.error ?? new Error('The file can’t be read.')));
    reader.readAsDataURL(blob);
  });
}
