import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { findForeignMarkup } from '../_support/find-markup.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { says, ScriptedModel } from '../_support/scripted-model.ts';

afterAll(closePages);

async function answer(page: Page): Promise<void> {
  await page.getByLabel('Your question').fill('Show me');
  await page.keyboard.press('Enter');
  await page.locator('.chat-answer .chat-foot').waitFor();
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const text = `Euler: $e^{i\\pi} + 1 = 0$, and \\(a_1 * b_1 * c_1\\). It costs $5 and $6, or $HOME/bin:$PATH.

$$
\\int_0^1 x^2\\,dx = \\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}
$$

Then $$\\frac{a}{b}$$ and \\[\\sqrt{2}\\].

\`\`\`math
\\color{red}{y} = \\unknown{x}
\`\`\`

\`\`\`ts
// A remark
export const greet = (name: string): string => \`Hello \${name}\`;
\`\`\`

\`\`\`python
def f(x): return 42
\`\`\`

\`\`\`nosuchlanguage
plain = 1
\`\`\`

- one
  - two
    - three

![Dot](data:image/png;base64,${png})`;

describeInChromium('an answer with code and formulas', () => {
  it('is coloured and set, and each library is loaded when it is first needed', async () => {
    const model = new ScriptedModel(says('Nothing of that.'), says(text));
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url, { reducedMotion: 'reduce' });
    const { page } = it;
    const loaded: string[] = [];
    page.on('request', (request) => loaded.push(request.url()));
    await answer(page);
    await it.settled();
    expect(loaded.filter((url) => /render|temml|colour|maths/.test(url))).toEqual([]);
    await page.getByRole('button', { name: 'New chat' }).click();
    await answer(page);
    await page.locator('.code-block', { hasText: 'def f' }).locator('.code-keyword', { hasText: 'def' }).waitFor();
    await expect.poll(() => page.locator('.maths math').count()).toBe(5);
    const code = page.getByRole('group', { name: 'Code in ts' });
    expect(await code.innerText()).toBe('// A remark\nexport const greet = (name: string): string => `Hello ${name}`;');
    expect(await code.locator('.code-comment').innerText()).toBe('// A remark');
    expect(await page.getByRole('group', { name: 'Code in nosuchlanguage' }).locator('span').count()).toBe(0);
    expect(await page.locator('.maths.block').count()).toBe(4);
    expect(await page.locator('.maths mfrac').count()).toBe(1);
    expect(await page.locator('.markdown').innerText()).toContain('It costs $5 and $6, or $HOME/bin:$PATH.');
    // A formula with an error stays as it was written.
    expect(await page.locator('.maths.block code').innerText()).toBe('\\color{red}{y} = \\unknown{x}');
    const bullets = page.locator('.markdown ul');
    const styles = await bullets.evaluateAll((lists) => lists.map((list) => getComputedStyle(list).listStyleType));
    expect(styles).toEqual(['disc', 'circle', 'square']);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByRole('button', { name: 'Dot' }).click();
    await page.getByRole('dialog', { name: 'Dot' }).getByRole('img').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(it.faults).toEqual([]);
    expect(it.foreign).toEqual([]);
  });

  it('contains nothing but text, colours and MathML, whatever the model writes', async () => {
    const formulas = [
      '\\href{javascript:alert(1)}{x}',
      '\\url{https://evil.example}',
      '\\includegraphics{https://evil.example/p.png}',
      '\\text{<img src=x onerror=alert(1)>}',
      '\\color{url(https://evil.example)}{x}',
      '\\textcolor{red;position:fixed}{x}',
      '\\class{evil}{x} \\id{evil}{x} \\style{position:fixed}{x}',
      '\\htmlData{a=b}{x} \\htmlStyle{background:url(//evil.example)}{x}',
      '\\colorbox{#ff0000}{\\text{box}} \\fcolorbox{red}{blue}{a}',
      '\\rule{9999em}{9999em} \\kern-500em x \\hspace{-900em} y',
      '\\def\\a{\\a\\a}\\a',
      '\\newcommand{\\b}[1]{#1#1}\\b{\\b{\\b{\\b{\\b{\\b{\\b{\\b{\\b{x}}}}}}}}}',
      `${'{'.repeat(400)}x${'}'.repeat(400)}`,
      `${'\\sqrt{'.repeat(300)}x${'}'.repeat(300)}`,
      '\\unicode{x202E} \u202Egnp',
      '\\require{mhchem} \\ce{H2O}',
    ];
    const languages = ['js', 'html', 'markdown', 'php', 'c++', '__proto__', 'constructor', 'py"><img src=x>'];
    const code = '</code><img src=x onerror=alert(1)><script>alert(1)</script> "\'`${{{<?php ?>';
    const all = [
      ...formulas.map((formula) => `$$${formula}$$`),
      ...languages.map((language) => `\`\`\`${language}\n${code}\n\`\`\``),
      `\`\`\`js\n${'`${'.repeat(3_000)}\n\`\`\``,
      `\`\`\`md\n${'[['.repeat(5_000)}\n\`\`\``,
      `${'$a$ '.repeat(200)}${'$'.repeat(2_000)}${'\\('.repeat(2_000)}`,
      'The last formula: $z_9$',
    ];
    const model = new ScriptedModel(says(all.join('\n\n')));
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url);
    const { page } = it;
    await answer(page);
    await page.locator('.maths msub', { hasText: 'z' }).waitFor();
    await page.locator('.code-block', { hasText: '<?php' }).first().locator('.code-string').first().waitFor();
    await it.settled();
    expect(await findForeignMarkup(page)).toEqual([]);
    const outside = await page
      .locator('.maths math')
      .evaluateAll((found) => found.filter((math) => math.querySelector('a, img, script') !== null));
    expect(outside).toEqual([]);
    expect(it.faults).toEqual([]);
    expect(it.foreign).toEqual([]);
  });

  it('says so if it is empty', async () => {
    const model = new ScriptedModel([{ type: 'finish', reason: 'length' }]);
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url);
    await answer(it.page);
    await it.page.getByText('The model returned an empty answer.').waitFor();
    expect(it.faults).toEqual([]);
  });
});
