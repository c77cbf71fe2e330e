#!/usr/bin/env node
// Writes the types of docs/openapi.json for a client's language to standard output:  scripts/client-types.mjs typescript|python
//
// Every object of the API becomes one type, with the words of the document. What it cannot express is an error, so that nothing is left out in silence.
import { readFileSync } from 'node:fs';

const document = JSON.parse(readFileSync(new URL('../docs/openapi.json', import.meta.url)));
const schemas = document.components.schemas;
const made = 'Made from docs/openapi.json by scripts/generate; not to be changed by hand.';
const named = (ref) => ref.replace('#/components/schemas/', '');

/** The members of an object, whatever it is put together from; those of alternatives are optional. */
function members(schema, into = new Map(), optional = false) {
  if (schema.$ref) return members(schemas[named(schema.$ref)], into, optional);
  for (const part of schema.allOf ?? []) members(part, into, optional);
  for (const part of schema.oneOf ?? []) members(part, into, true);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const required = !optional && (schema.required ?? []).includes(name);
    into.set(name, { property, required: required || into.get(name)?.required === true });
  }
  return into;
}

/** An object of known members; one without any is a map of anything. */
const isObject = (schema) => Boolean(schema.properties || schema.allOf || schema.oneOf?.some((part) => part.properties));

function expression(schema, language) {
  if (schema.$ref) return named(schema.$ref);
  if (schema.const !== undefined) return language.literal(schema.const);
  if (schema.enum) return language.either(schema.enum.map(language.literal));
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives) return language.either(alternatives.map((part) => expression(part, language)));
  if (schema.allOf?.length === 1) return expression(schema.allOf[0], language);
  if (Array.isArray(schema.type)) return language.either(schema.type.map((type) => expression({ ...schema, type }, language)));
  switch (schema.type) {
    case 'string':
      return language.string;
    case 'integer':
      return language.integer;
    case 'number':
      return language.number;
    case 'boolean':
      return language.boolean;
    case 'null':
      return language.null;
    case 'array':
      return language.list(expression(schema.items, language));
    case 'object':
    case undefined:
      if (!schema.properties) return language.map(schema.additionalProperties?.type ? expression(schema.additionalProperties, language) : language.anything);
  }
  throw new Error(`not expressed: ${JSON.stringify(schema)}`);
}

const words = (schema) => {
  const said = [schema, ...(schema.oneOf ?? [])].find((part) => part.description);
  return (said?.description ?? '').replace(/\s+/g, ' ').trim();
};

const typescript = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
  anything: 'unknown',
  literal: (value) => `'${value}'`,
  either: (parts) => parts.join(' | '),
  list: (item) => (item.includes(' ') ? `(${item})[]` : `${item}[]`),
  map: (value) => `Record<string, ${value}>`,
  write() {
    const comment = (schema, indent) => (words(schema) ? `${indent}/** ${words(schema)} */\n` : '');
    const types = Object.entries(schemas).map(([name, schema]) => {
      if (!isObject(schema)) return `${comment(schema, '')}export type ${name} = ${expression(schema, typescript)};\n`;
      const lines = [...members(schema)].map(
        ([key, { property, required }]) => `${comment(property, '  ')}  ${key}${required ? '' : '?'}: ${expression(property, typescript)};\n`,
      );
      return `${comment(schema, '')}export interface ${name} {\n${lines.join('')}}\n`;
    });
    return `// ${made}\n\n${types.join('\n')}`;
  },
};

const python = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
  anything: 'Any',
  literal: (value) => `Literal["${value}"]`,
  either: (parts) => parts.join(' | '),
  list: (item) => `list[${item}]`,
  map: (value) => `dict[str, ${value}]`,
  write() {
    const docstring = (schema) => `    """${words(schema).replaceAll('\\', '\\\\')}"""\n`;
    const types = Object.entries(schemas).map(([name, schema]) => {
      if (!isObject(schema)) return `${name}: TypeAlias = "${expression(schema, python).replaceAll('"', "'")}"\n`;
      const lines = [...members(schema)].map(([key, { property, required }]) => {
        const type = expression(property, python);
        return `${words(property) ? `    # ${words(property)}\n` : ''}    ${key}: ${required ? type : `NotRequired[${type}]`}\n`;
      });
      return `class ${name}(TypedDict):\n${docstring(schema)}\n${lines.join('')}`;
    });
    const head = `"""The objects of the API. ${made}"""\n\nfrom __future__ import annotations\n`;
    return `${head}\nfrom typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n\n\n${types.join('\n\n')}`;
  },
};

const language = { typescript, python }[process.argv[2]];
if (!language) {
  console.error('usage: scripts/client-types.mjs typescript|python');
  process.exit(2);
}
process.stdout.write(language.write());
