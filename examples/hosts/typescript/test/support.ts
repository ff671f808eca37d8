// What the tests share: the program, roots of bundled logs, sidecars that end with their test.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

import {
  Sidecar,
  type ContextMessage,
  type LiveEvent,
  type LiveSessionHeader,
  type SidecarChange,
  type SidecarOptions,
} from 'sessionref-host';

process.on('warning', (warning) => {
  throw warning;
});

const REPOSITORY = new URL('../../../../../', import.meta.url);
export const PROGRAM =
  process.env['SESSIONREF'] ?? fileURLToPath(new URL('.venv/bin/sessionref', REPOSITORY));
export const BOUND = { timeout: 60_000 };

type Row = Omit<LiveEvent, 'seq'>;

export interface StoredSession {
  header: LiveSessionHeader;
  events: LiveEvent[];
}

interface Logs {
  CWD: string;
  user(text: string): Row;
  title(text: string): Row;
  session(id: string, rows: Row[], more?: Partial<LiveSessionHeader>): StoredSession;
  store(root: string, session: StoredSession): void;
}

export const { CWD, user, title, session, store } = (await import(
  new URL('tests/clients/logs.mjs', REPOSITORY).href
)) as Logs;

export const AGENT = { id: 'agent', cwd: CWD };

/** A folder that is removed after the test. */
export function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'sessionref-host-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A root of two sessions, which is removed after the test. */
export function makeRoot(t: TestContext): string {
  const root = makeFolder(t);
  const login = [user('Logging in fails.'), user('The cookie is gone.'), title('Fix login 页面')];
  store(root, session('login', login));
  store(root, session('other', [user('Send them monthly.'), title('Invoices')]));
  return root;
}

const OURS = Object.keys(process.env).filter((name) => /^(SESSIONREF|DSH|PYTHON)/.test(name));
/** Leaves out of our environment what could change the sidecar's answers. */
export const CLEAN = Object.fromEntries(OURS.map((name) => [name, undefined]));

/** Restarts that a test need not wait for. */
export const SOON = { firstDelayMs: 10, maxDelayMs: 20 };

/** The installed program on a root, closed after the test. */
export async function startSidecar(
  t: TestContext,
  { root = makeRoot(t), ...more }: Partial<SidecarOptions> & { root?: string } = {},
): Promise<Sidecar> {
  const sidecar = await Sidecar.start({
    command: PROGRAM,
    args: ['--root', root, '--no-index'],
    env: CLEAN,
    onStderr: (text) => process.stderr.write(text),
    restart: SOON,
    ...more,
  });
  t.after(() => sidecar.close());
  return sidecar;
}

/** How to start a stand-in that misbehaves in one way; see fake.ts. */
export function fake(mode: string): { command: string; args: string[] } {
  const script = fileURLToPath(new URL('fake.js', import.meta.url));
  return { command: process.execPath, args: [script, mode] };
}

/** A promise, and what settles it. */
export function gate<T = void>(): { opened: Promise<T>; open: (value: T) => void } {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => (open = resolve));
  return { opened, open };
}

/** What never comes. */
export const NEVER = new Promise<never>(() => {});

/** Changes of a sidecar, one after the other as they are asked for. */
export class Changes {
  readonly #told: SidecarChange[] = [];
  #waiting: ((change: SidecarChange) => void) | undefined;

  readonly onChange = (change: SidecarChange) => {
    if (this.#waiting) this.#waiting(change);
    else this.#told.push(change);
    this.#waiting = undefined;
  };

  next(): Promise<SidecarChange> {
    const told = this.#told.shift();
    if (told) return Promise.resolve(told);
    return new Promise((resolve) => (this.#waiting = resolve));
  }
}

/** What a context message quotes: the texts of each session by its id. */
export function quoted(context: ContextMessage | undefined): Record<string, string[]> {
  const found = /<referenced-sessions>\n(.*)\n<\/referenced-sessions>/s.exec(
    context?.content[0]?.text ?? '',
  );
  const sources = JSON.parse(found?.[1] ?? '[]') as Array<{
    sessionId: string;
    conversation: Array<{ text: string }>;
  }>;
  return Object.fromEntries(
    sources.map(({ sessionId, conversation }) => [sessionId, conversation.map(({ text }) => text)]),
  );
}

/** The context message of some references. */
export async function prepared(sidecar: Sidecar, ...ids: string[]) {
  const references = ids.map((sessionId) => ({ sessionId }));
  const result = await sidecar.prepare({ agent: AGENT, content: [], references });
  return quoted(result.additionalContext);
}
