// Plain JavaScript on purpose: it must run on any Node to say which one is needed.
var needed = [22, 19];

/** Whether a Node of this version, as in `24.21.0`, runs the gateway. */
export function isNewEnough(version) {
  var parts = version.split('.').map(Number);
  return parts[0] > needed[0] || (parts[0] === needed[0] && parts[1] >= needed[1]);
}

/** The package of npm that carries a Node for this machine. */
export var carrier = 'node-' + (process.platform === 'win32' ? 'win' : process.platform) + '-' + process.arch;

export var complaint =
  'toolwharf needs Node.js 24 (at least 22.19), and this is ' +
  process.versions.node +
  '. Install Node.js 24, or let npm bring it along: `npm ci` with its optional dependencies in a checkout, `npm install ' +
  carrier +
  '@24` elsewhere.';
