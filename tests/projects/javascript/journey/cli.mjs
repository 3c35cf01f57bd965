import * as lamp from './lamp.mjs';

const level = Number(process.argv[2]);
console.log(lamp.shines(level), lamp.dimmed(level));
