import type { Attachment } from './state/chat.ts';

/** On the longer side, in pixels: what models look at. */
const maxSide = 1_280;
/** A picture of this size that fits is sent as it is. */
const smallBytes = 150_000;
/** A message holds at most one megabyte, with all that was said before. */
const maxTextBytes = 300_000;

/** @throws Error with what can be attached instead */
export async function readAttachment(file: File): Promise<Attachment> {
  const { name, type, size } = file;
  if (/^image\/(?:png|jpeg|gif|webp|avif)$/.test(type)) return { kind: 'picture', name, url: await readPicture(file) };
  if (size > maxTextBytes)
    throw new Error(`${name} is too large: a text may have ${maxTextBytes / 1_000} kB. Attach the part that matters.`);
  const content = await readText(file);
  if (content === undefined) throw new Error(`${name} is no text. Pictures can be attached, and files of plain text.`);
  return { kind: 'text', name, content };
}

async function readText(file: File): Promise<string | undefined> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    // A PDF can consist of ASCII alone.
    return text.startsWith('%PDF-') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** As a `data:` address; large ones are made smaller. */
async function readPicture(file: File): Promise<string> {
  const picture = await createImageBitmap(file).catch(() => {
    throw new Error(`${file.name} cannot be read as a picture.`);
  });
  const { width, height } = picture;
  const scale = Math.min(1, maxSide / Math.max(width, height));
  if (scale === 1 && file.size <= smallBytes && /png|jpeg/.test(file.type)) return toDataUrl(file);
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale)));
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('This browser cannot make pictures smaller.');
  // JPEG has no transparency, and would make it black.
  context.fillStyle = 'white';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return toDataUrl(await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.85 }));
}

function toDataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(reader.result as string));
    reader.addEventListener('error', () => reject(reader.error ?? new Error('The file cannot be read.')));
    reader.readAsDataURL(blob);
  });
}
