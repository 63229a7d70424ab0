import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/**
 * `npm run check`: four programs side by side, as each of them leaves cores idle at times. The tests are seen while they run; what the others have
 * to say comes after them, one after the other. All are run to their end, and what failed is named last.
 */
const quiet = {
  format: 'oxfmt --check',
  lint: 'oxlint --type-aware --deny-warnings',
  types: 'tsc --checkers 1 --incremental --tsBuildInfoFile node_modules/.cache/tsconfig.tsbuildinfo',
};
const tests = 'vitest run --project unit';

/** Linter and compiler are programs in Go that end soon: collecting garbage is a quarter of their work, and saves nobody memory below this limit. */
const withoutCollecting = { ...process.env, GOGC: 'off', GOMEMLIMIT: '3GiB' };

const codeOf = (child: ReturnType<typeof spawn>): Promise<number> =>
  new Promise((resolve, reject) => child.once('error', reject).once('close', (code) => resolve(code ?? 1)));

const quietRuns = Object.entries(quiet).map(async ([name, command]) => {
  const child = spawn(command, { shell: true, env: withoutCollecting, stdio: ['ignore', 'pipe', 'pipe'] });
  const [code, ...told] = await Promise.all([codeOf(child), text(child.stdout), text(child.stderr)]);
  return { name, code, told: told.join('') };
});
const failed = (await codeOf(spawn(tests, { shell: true, stdio: 'inherit' }))) === 0 ? [] : ['tests'];
for (const { name, code, told } of await Promise.all(quietRuns)) {
  process.stdout.write(`\n${name}\n${told}`);
  if (code !== 0) failed.push(name);
}
process.stdout.write(failed.length === 0 ? '\ncheck passed\n' : `\ncheck failed: ${failed.join(', ')}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
