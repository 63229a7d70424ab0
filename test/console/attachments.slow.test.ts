import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, looks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { says, ScriptedModel } from '../_support/scripted-model.ts';

afterAll(closePages);

/** One red pixel. */
const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==', 'base64');
const picture = { name: 'red.png', mimeType: 'image/png', buffer: png };
const notes = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('The harbour opens at six.') };

async function attach(page: Page, ...files: (typeof picture)[]): Promise<void> {
  const choosing = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Attach images, PDFs or text files' }).click();
  await (await choosing).setFiles(files);
}

/** A PDF with a line of text on each page. */
function pdfOf(pages: readonly string[]): Buffer<ArrayBuffer> {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, index) => `${4 + index * 2} 0 R`).join(' ')}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages.flatMap((text, index) => {
      const stream = `BT /F1 12 Tf 72 700 Td (${text}) Tj ET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + index * 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
        `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
      ];
    }),
  ];
  return Buffer.from(
    `%PDF-1.4\n${objects.map((object, index) => `${index + 1} 0 obj\n${object}\nendobj\n`).join('')}trailer << /Root 1 0 R >>\n%%EOF`,
  );
}

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your question').fill(question);
  await page.keyboard.press('Enter');
}

describeInChromium('files of a question', () => {
  it('reach the model, images as images and texts as sources, and stay with their question', async () => {
    const model = new ScriptedModel(says('At six.'), says('Red.'));
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url);
    const { page } = it;
    await attach(page, picture, notes, { ...notes, name: 'other.txt' });
    await page.getByRole('button', { name: 'Remove other.txt' }).click();
    await page.getByRole('img', { name: 'red.png' }).waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await ask(page, 'When does it open?');
    await page.locator('.chat-answer .chat-foot').waitFor();
    const asked = JSON.stringify(model.requests[0]?.messages);
    expect(asked).toContain(png.toString('base64'));
    expect(asked).toContain('The harbour opens at six.');
    await page.locator('.chat-sources .chip', { hasText: 'notes.txt' }).click();
    await page.getByRole('dialog').getByText('The harbour opens at six.').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.locator('.composer .attached').count()).toBe(0);
    await page.reload();
    await page.locator('.chat-message.user').getByRole('img', { name: 'red.png' }).waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await ask(page, 'And which colour?');
    await page.getByText('Red.').waitFor();
    expect(JSON.stringify(model.requests[1]?.messages)).toContain(png.toString('base64'));
    expect(it.faults).toEqual([]);
  });

  it('can be sent without words, and that question can be edited', async () => {
    const model = new ScriptedModel(says('A red dot.'), says('At six.'), says('Nothing else.'));
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url);
    const { page } = it;
    const send = page.getByRole('button', { name: 'Send (Enter)' });
    expect(await send.isDisabled()).toBe(true);
    await attach(page, picture);
    await page.getByRole('button', { name: 'Remove red.png' }).waitFor();
    await send.click();
    await page.getByText('A red dot.').waitFor();
    await page.getByRole('heading', { name: 'red.png', level: 1 }).waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    expect(model.requests[0]?.messages.at(-1)?.content).toMatchObject([{ type: 'image_url' }]);
    await attach(page, notes);
    await page.getByRole('button', { name: 'Remove notes.txt' }).waitFor();
    await page.getByLabel('Your question').press('Enter');
    await page.getByText('At six.').waitFor();
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('The harbour opens at six.');
    expect(await page.locator('.chat-question').count()).toBe(0);
    await page.getByRole('button', { name: 'Edit' }).last().click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Nothing else.').waitFor();
    expect(it.faults).toEqual([]);
  });

  it('are limited to eight, and a message says so when more are attached', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url);
    const { page } = it;
    await attach(page, ...Array.from({ length: 9 }, (_, index) => ({ ...notes, name: `${index}.txt` })));
    await page.getByText('A question can have 8 files. Attach the others to your next question.').last().waitFor();
    await page.getByRole('button', { name: 'Remove 7.txt' }).waitFor();
    expect(await page.getByRole('button', { name: 'Remove 8.txt' }).count()).toBe(0);
    // The message stays until it is closed, and must not be in the way of sending.
    await page.getByLabel('Your question').fill('What is in them?');
    for (const { viewport } of looks) {
      await page.setViewportSize(viewport);
      await page.getByRole('button', { name: 'Send (Enter)' }).click({ trial: true, timeout: 2_000 });
    }
    expect(await findFaultsInAllLooks(page)).toEqual([]);
  });

  it('can be pasted, and a large image is scaled down', async () => {
    const model = new ScriptedModel(says('Large.'));
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByLabel('Your question').evaluate(async (field) => {
      const canvas = new OffscreenCanvas(4_000, 2_000);
      canvas.getContext('2d')?.fillRect(0, 0, 2_000, 2_000);
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([await canvas.convertToBlob()], 'large.png', { type: 'image/png' }));
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    });
    const shown = page.getByRole('img', { name: 'large.png' });
    await shown.waitFor();
    expect(await shown.evaluate((img: HTMLImageElement) => [img.naturalWidth, img.naturalHeight])).toEqual([1_280, 640]);
    await ask(page, 'What is it?');
    await page.getByText('Large.').waitFor();
    expect(JSON.stringify(model.requests[0]?.messages)).toContain('data:image/jpeg;base64,');
  });

  it('can be PDFs, whose text is read here, with a program that is loaded for the first one', async () => {
    const model = new ScriptedModel(says('Read.'));
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url);
    const { page } = it;
    const loaded: string[] = [];
    page.on('request', (request) => loaded.push(request.url()));
    const pdf = (...pages: string[]) => ({ name: 'paper.pdf', mimeType: 'application/pdf', buffer: pdfOf(pages) });
    await attach(page, pdf('', ''));
    await page.getByText('paper.pdf contains no text.').first().waitFor();
    await attach(page, pdf('The first page', 'The second one'));
    await page.getByRole('button', { name: 'Remove paper.pdf' }).waitFor();
    await ask(page, 'What does it say?');
    await page.getByText('Read.').waitFor();
    expect(JSON.stringify(model.requests[0]?.messages)).toContain('The first page\\n\\nThe second one');
    expect(loaded.filter((url) => url.includes('pdf-worker'))).toHaveLength(2);
    expect(it.faults).toEqual([]);
    expect(it.foreign).toEqual([]);
  });

  it('are refused when they are neither images nor text, or too large for a message', async () => {
    const model = new ScriptedModel(says('Short again.'));
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url);
    const { page } = it;
    await attach(page, { name: 'program.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0xff, 0xfe, 0xfd]) });
    await page.getByText('program.bin isn’t plain text.').first().waitFor();
    await attach(page, { name: 'plain.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n1 0 obj\nendobj\n%%EOF') });
    await page.getByText('plain.pdf can’t be read as a PDF.').first().waitFor();
    await attach(page, { ...notes, buffer: Buffer.alloc(400_000, 'x') });
    await page.getByText('notes.txt is too large').first().waitFor();
    const large = { ...notes, buffer: Buffer.alloc(290_000, 'x') };
    await attach(page, large, large, large, large);
    await page.getByRole('button', { name: 'Remove notes.txt' }).nth(3).waitFor();
    await ask(page, 'Read this');
    await page.getByText('too large to send').first().waitFor();
    expect(model.requests).toEqual([]);
    await page.getByRole('button', { name: 'New chat' }).click();
    await ask(page, 'Hello');
    await page.getByText('Short again.').waitFor();
    expect(it.faults).toEqual([]);
  });
});
