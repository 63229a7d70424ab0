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
  serve: {
    does: 'runs the gateway (the default)',
    run: () => import(`./cli/serve.${extension}`).then(({ serve }) => serve(process.env)),
  },
  demo: {
    does: 'shows in the terminal how chats call tools',
    run: () => import(`./cli/demo.${extension}`).then(({ runDemo }) => runDemo()),
  },
  convert: {
    does: 'shows the functions that an OpenAPI document becomes: convert <url or file> [--json]',
    run: (args) => import(`./cli/convert.${extension}`).then(({ convert }) => convert(args)),
  },
  doctor: {
    does: 'says what is in force, and what is wrong',
    run: () => import(`./cli/doctor.${extension}`).then(({ doctor }) => doctor(process.env)),
  },
  healthcheck: {
    does: 'ends with 0 if the gateway is healthy, otherwise with 1',
    run: () => import(`./cli/healthcheck.${extension}`).then(({ healthcheck }) => healthcheck(process.env)),
  },
  'copy-database': {
    does: 'moves an installation to another database: copy-database <from> <to>',
    run: (args) => import(`./cli/copy-database.${extension}`).then(({ runCopy }) => runCopy(args, process.env)),
  },
  'time-server': {
    does: 'runs a tool server that knows the time, to try things with',
    run: () => import(`./cli/time-server.${extension}`).then(({ serveTime }) => serveTime(process.env)),
  },
};

const [name = 'serve', ...args] = process.argv.slice(2);
if (['help', '--help', '-h'].includes(name)) {
  console.log('Usage: toolwharf [command]\n');
  for (const [command, { does }] of Object.entries(commands)) console.log(`  ${command.padEnd(14)} ${does}`);
  console.log('\nSettings come from environment variables or toolwharf.yaml: see docs/configuration.md.');
  process.exit(0);
}
if (['version', '--version', '-v'].includes(name)) {
  console.log((await import(`./app/version.${extension}`)).version);
  process.exit(0);
}
if (!Object.hasOwn(commands, name)) exitWith(2, `there is no command "${name}". Commands: ${Object.keys(commands).join(', ')}.`);
if (args.length > 0 && !['convert', 'copy-database'].includes(name))
  exitWith(
    2,
    `${name} takes no arguments, but got "${args[0]}". Settings come from environment variables or toolwharf.yaml: see docs/configuration.md.`,
  );
await commands[name].run(args).catch(async (error) => {
  console.error(lineFor(error) ?? (await withSources(error)));
  process.exit(1);
});

function exitWith(code, message) {
  console.error(`toolwharf: ${message}`);
  process.exit(code);
}

/** What an operator can mend is told in one line; anything else is a bug of the gateway. */
function lineFor(error) {
  if (error?.name === 'ConfigError' || error?.name === 'GatewayError') return `toolwharf: ${error.message}`;
  if (error?.code === 'EADDRINUSE') return `toolwharf: port ${error.port} is taken; set PORT to another one, or end what listens there.`;
  if (error?.code === 'EACCES') return `toolwharf: port ${error.port} needs more rights; set PORT to one above 1023.`;
  if (error?.code === 'EADDRNOTAVAIL') return noAddress(error.address);
  // A name that nobody knows, and a link-local address, which needs the name of its network card.
  if (error?.syscall === 'getaddrinfo') return noAddress(error.hostname);
  if (error?.syscall === 'listen' && error.code === 'EINVAL') return noAddress(error.address);
  return undefined;
}

function noAddress(host) {
  return `toolwharf: ${host} is not an address of this machine; correct HOST, for example to 127.0.0.1.`;
}

/** A bug shows where it is in the sources. */
async function withSources(error) {
  const { withSourcePositions } = await import(`./observability/source-positions.${extension}`);
  if (typeof error?.stack === 'string') error.stack = withSourcePositions(error.stack);
  return error;
}
