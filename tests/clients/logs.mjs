// Sessions: the rows of a log, in memory or written to disk as plain lines.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const CREATED_AT = 1_700_000_000_000;
export const CWD = '/work/shop';
const PROJECT = '--work-shop--';

/** A message of a person, without its place in the log. */
export function user(text) {
  const content = [{ type: 'text', text }];
  const data = { id: 'm', role: 'user', source: { kind: 'user' }, content };
  return { type: 'user/message', data, surfaceOp: 'append' };
}

/** A title of the session. */
export function title(text) {
  const data = { title: text, messageSeqs: [], source: { kind: 'user' } };
  return { type: 'session/title', data };
}

/** A mark such as `turn/start`. */
export function mark(type) {
  return { type, data: { turn: 1, step: 1 } };
}

/** A session: its header, with `more` of it, and its events in their places. */
export function session(id, rows, more = {}) {
  const header = { type: 'session', version: 0, id, createdAt: CREATED_AT, cwd: CWD, ...more };
  const events = rows.map((row, seq) => ({ seq, time: CREATED_AT + seq, ...row }));
  return { header, events };
}

/** Write a session of format 0 below a root, where its id (letters and `-` only) says. */
export function store(root, { header, events }) {
  const folder = join(root, PROJECT, header.id);
  mkdirSync(folder, { recursive: true });
  const lines = [{ delegationDepth: 0, ...header }, ...events].map((row) => JSON.stringify(row));
  writeFileSync(join(folder, 'session.jsonl'), `${lines.join('\n')}\n`);
}
