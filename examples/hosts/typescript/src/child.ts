// The process: spawned without a shell, its stderr drained, its end told once. Knows no messages.

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';

import { SidecarUnavailableError } from './errors.js';

/** How long the rest of its output is waited for: something that it started may hold the pipes. */
const DRAIN_MS = 1000;
const TAIL_CHARACTERS = 4096;

export interface SpawnOptions {
  /** The program: a path, or a name to be looked up in PATH. On Windows an `.exe`, no script. */
  command: string;
  args?: readonly string[];
  /** Variables to add to our environment, or (undefined) to leave out of it. */
  env?: Readonly<Record<string, string | undefined>>;
  cwd?: string;
  /** What it writes to stderr, in pieces. It is drained in any case, or it would stall. */
  onStderr?: (text: string) => void;
}

/** How a process ended: one of both is set. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export class Child {
  /** Settles when the process has ended and its output has been read. */
  readonly exited: Promise<Exit>;
  readonly #process: ChildProcessWithoutNullStreams;
  #tail = '';

  private constructor(process: ChildProcessWithoutNullStreams, onStderr = (_: string) => {}) {
    this.#process = process;
    process.on('error', () => {}); // of the start `start` tells, of the end `exited`
    process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#tail = (this.#tail + text).slice(-TAIL_CHARACTERS);
      onStderr(text);
    });
    process.on('exit', () => {
      setTimeout(() => {
        process.stdout.destroy();
        process.stderr.destroy();
      }, DRAIN_MS).unref();
    });
    this.exited = new Promise((resolve) => {
      process.on('close', (code, signal) => resolve({ code, signal }));
    });
  }

  /** A process that runs. Rejects with `SidecarUnavailableError` if there can be none. */
  static async start(options: SpawnOptions): Promise<Child> {
    const { command, args = [], cwd, env = {} } = options;
    try {
      const process_ = spawn(command, args, {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: changedEnvironment(process.env, env),
        windowsHide: true,
        ...(cwd === undefined ? {} : { cwd }),
      });
      const child = new Child(process_, options.onStderr);
      await once(process_, 'spawn');
      return child;
    } catch (error) {
      throw startFailure(options, error as NodeJS.ErrnoException);
    }
  }

  get pid(): number {
    return this.#process.pid!;
  }

  get stdin() {
    return this.#process.stdin;
  }

  get stdout() {
    return this.#process.stdout;
  }

  /** The last that it wrote to stderr. */
  get lastWords(): string {
    return this.#tail.trim();
  }

  /** End it at once, whatever it does. */
  kill(): void {
    this.#process.kill('SIGKILL');
  }
}

/** An environment with changes. On Windows the letter case of names makes no difference. */
export function changedEnvironment(
  base: NodeJS.ProcessEnv,
  changes: NodeJS.ProcessEnv,
  isCaseless = process.platform === 'win32',
): NodeJS.ProcessEnv {
  const same = (name: string) => (isCaseless ? name.toUpperCase() : name);
  const changed = new Set(Object.keys(changes).map(same));
  const kept = Object.entries(base).filter(([name]) => !changed.has(same(name)));
  const added = Object.entries(changes).filter(([, value]) => value !== undefined);
  return Object.fromEntries([...kept, ...added]);
}

function startFailure({ command, cwd }: SpawnOptions, cause: NodeJS.ErrnoException): Error {
  const reason =
    cwd !== undefined && !existsSync(cwd)
      ? `the folder ${cwd} is missing`
      : cause.code === 'ENOENT'
        ? 'there is no such program'
        : cause.code === 'EACCES'
          ? 'it may not be run'
          : cause.message;
  return new SidecarUnavailableError(`${command} can't be started: ${reason}`, { cause });
}
