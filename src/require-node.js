// Plain JavaScript on purpose: it must run on any Node to say which one is needed.
var needed = [22, 19];
var found = process.versions.node.split('.').map(Number);
if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  console.error(
    'toolwharf needs Node.js 24 (at least 22.19), and this is ' +
      process.versions.node +
      '. Install Node.js 24; in a checkout `npm ci` with its optional dependencies brings it along.',
  );
  process.exit(1);
}
