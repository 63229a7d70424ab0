#!/usr/bin/env node
// Plain JavaScript: before anything that an older Node could not read is loaded, the program goes on with a newer one.
import './use-newer-node.js';
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';

// A name that an old Node does not export would end it before its version is looked at, so the module is taken as a whole.
// What was compiled once starts faster the next time.
nodeModule.enableCompileCache?.();

// Sources run as they are in a checkout; a built package holds JavaScript beside this file.
const extension = existsSync(new URL('./cli/serve.js', import.meta.url)) ? 'js' : 'ts';
const commands = {
  serve: () => import(`./cli/serve.${extension}`).then(({ serve }) => serve(process.env)),
  demo: () => import(`./cli/demo.${extension}`).then(({ runDemo }) => runDemo()),
  convert: () => import(`./cli/convert.${extension}`).then(({ convert }) => convert(process.argv.slice(3))),
  doctor: () => import(`./cli/doctor.${extension}`).then(({ doctor }) => doctor(process.env)),
  healthcheck: () => import(`./cli/healthcheck.${extension}`).then(({ healthcheck }) => healthcheck(process.env)),
  'time-server': () => import(`./cli/time-server.${extension}`).then(({ serveTime }) => serveTime(process.env)),
};

const name = process.argv[2] ?? 'serve';
if (['help', '--help', '-h'].includes(name)) {
  console.log(
    `toolwharf <command>: ${Object.keys(commands).join(', ')} (default: serve). Settings are environment variables; see docs/configuration.md.`,
  );
  process.exit(0);
}
if (['version', '--version', '-v'].includes(name)) {
  console.log((await import(`./app/version.${extension}`)).version);
  process.exit(0);
}
if (!Object.hasOwn(commands, name)) {
  console.error(`toolwharf: there is no command "${name}". Commands: ${Object.keys(commands).join(', ')}.`);
  process.exit(2);
}
await commands[name]().catch(async (error) => {
  console.error(lineFor(error) ?? (await withSources(error)));
  process.exit(1);
});

/** What an operator can mend is told in one line; anything else is a fault of ours. */
function lineFor(error) {
  if (error?.name === 'ConfigError' || error?.name === 'GatewayError') return `toolwharf: ${error.message}`;
  if (error?.code === 'EADDRINUSE') return `toolwharf: port ${error.port} is taken; set PORT to another one, or end what listens there.`;
  if (error?.code === 'EACCES') return `toolwharf: port ${error.port} needs more rights; set PORT to one above 1023.`;
  if (error?.code === 'EADDRNOTAVAIL') return `toolwharf: ${error.address} is no address of this machine; correct HOST.`;
  return undefined;
}

/** A fault of ours shows where in the sources. */
async function withSources(error) {
  const { withSourcePositions } = await import(`./observability/source-positions.${extension}`);
  if (typeof error?.stack === 'string') error.stack = withSourcePositions(error.stack);
  return error;
}
