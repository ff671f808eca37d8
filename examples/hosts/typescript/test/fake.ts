// A stand-in for the sidecar that misbehaves in the one way that its argument names.

import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { createInterface } from 'node:readline';

const mode = process.argv[2];

const say = (message: object) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));

const INFO = {
  serverInfo: { name: 'fake', version: '0' },
  capabilities: { methods: [], policies: [] },
  limits: { maxLineBytes: 1000 },
  roots: [],
};

/** What becomes of the first request after `initialize`. */
const deeds: Record<string, () => void> = {
  garbage: () => console.log('Hello!'),
  torn: () => process.stdout.write('{"jsonrpc":"2.0","id":2,"resu', () => process.exit(3)),
  words: () => {
    console.error('it hurts');
    process.exitCode = 4;
    process.stdin.destroy();
  },
  holder: () => {
    const heir = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], {
      stdio: 'inherit',
    });
    heir.on('spawn', () => process.stderr.write(`${heir.pid}`, () => process.exit(5)));
  },
  hush: () => {
    closeSync(1);
    setInterval(() => {}, 60_000);
  },
  stubborn: () => setInterval(() => {}, 60_000),
  orderly: () => {}, // see below
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line) as { id: number; method: string };
  if (mode === 'mute') return;
  if (mode === 'orderly') {
    process.stderr.write(`${method} `);
    if (method === 'shutdown') say({ id, result: null });
    if (method === 'exit') process.exitCode = 7; // and the end of its input ends it
  }
  if (method !== 'initialize') deeds[mode ?? '']?.();
  else say({ id, result: { protocolVersion: mode === 'future' ? 2 : 1, ...INFO } });
});
