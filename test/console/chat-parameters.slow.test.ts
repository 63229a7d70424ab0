import { afterAll, expect, it } from 'vitest';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { ScriptedModel } from '../_support/scripted-model.ts';
import type { ScriptStep } from '../_support/scripted-model.ts';

afterAll(closePages);

const answer = (text: string): ScriptStep[] => [
  { type: 'text', text },
  { type: 'usage', usage: { prompt_tokens: 1_200, completion_tokens: 300, total_tokens: 1_500 } },
  { type: 'finish', reason: 'stop' },
];

describeInChromium('a chat', () => {
  it('sends the parameters that are set for it, and shows tokens, cost and the title of the task model', async () => {
    const model = new ScriptedModel(answer('Fine.'), answer('<think>Hm</think>\n**"Well-being today"**'), answer('Still fine.'));
    const settings = { TASK_MODEL: 'tasks', TASK_MODEL_EXTERNAL: 'tasks', MODEL_PRICES: '{"mo*": {"input": 2, "output": 10}}' };
    await using gateway = await freshGateway(settings, { backends: [backendOf(model, ['model', 'tasks'])] });
    await using it = await openPage(gateway.url, { reducedMotion: 'reduce' });
    const { page } = it;
    await page.getByRole('button', { name: 'Tools and options' }).click();
    await page.getByLabel('Temperature').fill('0.3');
    await page.getByLabel('Maximum tokens').fill('500');
    await page.getByLabel('Reasoning effort').selectOption('low');
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByLabel('Your question').fill('How are you?');
    await page.keyboard.press('Enter');
    await page.getByText('1,200 in, 300 out · US$0.0054').waitFor();
    expect(model.requests[0]?.parameters).toMatchObject({ temperature: 0.3, max_tokens: 500, reasoning_effort: 'low' });
    await page.getByRole('heading', { name: 'Well-being today' }).waitFor();
    expect(model.requests[1]?.tools).toEqual([]);
    await page.getByLabel('Your question').fill('And now?');
    await page.keyboard.press('Enter');
    await page.getByText('Still fine.').waitFor();
    await page.locator('.chat-answer .chat-foot').nth(1).waitFor();
    expect(model.requests).toHaveLength(3);
    await page.getByRole('button', { name: 'Tools and options' }).click();
    expect(await page.locator('.chat-totals').innerText()).toMatch(/Input tokens\s+2,400\s+Output tokens\s+600\s+Cost\s+US\$0\.011/);
    expect(await page.getByLabel('Temperature').inputValue()).toBe('0.3');
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    expect(it.faults).toEqual([]);
  });
});
