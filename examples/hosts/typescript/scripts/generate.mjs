// schemas/ -> src/protocol.ts: the types of all that travels, the methods and the error codes.
//
// Generates what the methods reach and nothing else. With --check nothing is written, and a
// difference fails: the schemas are the source, the types the product. --schemas DIR reads others.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const TARGET = here('../src/protocol.ts');
const { values: options } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    schemas: { type: 'string', default: here('../../../../schemas') },
  },
});

const read = (name) => JSON.parse(readFileSync(join(options.schemas, name), 'utf8'));
const nameOf = (ref) => ref.slice(0, ref.indexOf('.json'));

/** The names of all types that are used; an error's is, by every answer that is one. */
const used = new Set(['ErrorObject']);

function use(name) {
  used.add(name);
  return name;
}

/** A schema as a type. What it does not restrict is `unknown`: passed on as it is. */
function typeOf(schema) {
  if (schema.$ref) return use(nameOf(schema.$ref));
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  switch (schema.type) {
    case undefined:
      return 'unknown';
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'array':
      return `Array<${typeOf(schema.items ?? {})}>`;
    case 'object':
      if (!schema.properties) return `Record<string, ${typeOf(schema.additionalProperties ?? {})}>`;
  }
  throw new Error(`no type for ${JSON.stringify(schema)}`);
}

function boundsOf(schema) {
  const { minimum, maximum } = (schema.anyOf ?? [schema]).find((each) => 'minimum' in each) ?? {};
  if (minimum === undefined) return [];
  const isOpen = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER;
  return [isOpen ? `At least ${minimum}.` : `From ${minimum} to ${maximum}.`];
}

function comment(texts, indent = '') {
  const lines = texts.join('\n').split('\n');
  if (texts.length === 0) return '';
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  const body = lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n');
  return `${indent}/**\n${body}\n${indent} */\n`;
}

function interfaceOf(name) {
  const { description, properties, required } = read(`${name}.json`);
  const members = Object.entries(properties).map(([member, schema]) => {
    const texts = [...(schema.description ? [schema.description] : []), ...boundsOf(schema)];
    const mark = required.includes(member) ? '' : '?';
    return `${comment(texts, '  ')}  ${member}${mark}: ${typeOf(schema)};\n`;
  });
  return `${comment([description])}export interface ${name} {\n${members.join('')}}\n`;
}

function methodsOf(title, description, methods) {
  const members = methods.map(({ name, summary, params, result }) => {
    const [first] = params;
    const type = use(first ? nameOf(first.schema.$ref) : 'EmptyParams');
    const answer = result ? `; result: ${typeOf(result.schema)}` : '';
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    return `${comment([summary], '  ')}  ${key}: { params: ${type}${answer} };\n`;
  });
  return `${comment([description])}export interface ${title} {\n${members.join('')}}\n`;
}

function generate() {
  const { info, methods, components } = read('openrpc.json');
  const towards = (direction, isRequest) =>
    methods.filter(
      (each) =>
        ['either', direction].includes(each['x-direction']) && 'result' in each === isRequest,
    );
  const tables = [
    methodsOf(
      'SidecarRequests',
      'What a host can ask the sidecar.',
      towards('host-to-sidecar', true),
    ),
    methodsOf(
      'SidecarNotifications',
      'What a host can tell the sidecar.',
      towards('host-to-sidecar', false),
    ),
    methodsOf(
      'HostRequests',
      'What the sidecar can ask a host that said so in its capabilities.',
      towards('sidecar-to-host', true),
    ),
    methodsOf(
      'HostNotifications',
      'What the sidecar can tell a host.',
      towards('sidecar-to-host', false),
    ),
  ];
  const codes = Object.entries(components.errors).map(
    ([name, { code, message }]) => `${comment([message], '  ')}  ${name}: ${code},\n`,
  );
  const types = new Map();
  for (const name of used) types.set(name, interfaceOf(name)); // `used` grows meanwhile
  return [
    '// Made from schemas/ by scripts/generate.mjs. Do not edit: `npm run generate`.\n',
    `export const PROTOCOL_VERSION = ${Number(info.version)};\n`,
    comment(['The codes of error answers.']) +
      `export const ErrorCode = {\n${codes.join('')}} as const;\n`,
    ...tables,
    ...[...types.keys()].sort().map((name) => types.get(name)),
  ].join('\n');
}

const text = generate();
if (!options.check) {
  writeFileSync(TARGET, text);
} else if (readFileSync(TARGET, 'utf8') !== text) {
  console.error('src/protocol.ts is not what the schemas say: run `npm run generate`.');
  process.exitCode = 1;
}
