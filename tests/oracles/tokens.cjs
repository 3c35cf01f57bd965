// How many tokens texts have: stdin is a JSON array of texts, stdout an array of numbers.
//
// `node tokens.cjs PACKAGE`, where PACKAGE is the folder of gpt-tokenizer. Its vocabulary comes with it, so nothing is fetched.
const { countTokens } = require(`${process.argv[2]}/cjs/encoding/o200k_base.js`);

const texts = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
// What looks like a mark of a model's own is text here, as it is to whoever reads it out of a file.
const counted = texts.map((text) => countTokens(text, { disallowedSpecial: new Set() }));
process.stdout.write(JSON.stringify(counted));
