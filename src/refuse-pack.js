// A package of the sources would install, and never start: Node strips no types below node_modules. dist/ has a package.json of its own.
process.stderr.write('toolwharf: the package is made of dist/. Use: npm run build && npm pack ./dist\n');
process.exitCode = 1;
