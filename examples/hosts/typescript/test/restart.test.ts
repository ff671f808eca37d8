// Starts that fail, crashes, restarts and their limit, and the way out.

import assert from 'node:assert/strict';
import { symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import {
  LineTooLongError,
  ProtocolError,
  Sidecar,
  SidecarGoneError,
  SidecarUnavailableError,
  type SidecarChange,
  type SidecarOptions,
} from 'sessionref-host';

import { DEFAULT_POLICY, delayBefore } from '../src/restart.js';
import {
  BOUND,
  CLEAN,
  Changes,
  NEVER,
  PROGRAM,
  SOON,
  fake,
  gate,
  makeFolder,
  makeRoot,
  prepared,
  session,
  startSidecar,
  user,
} from './support.js';

function assertKind<K extends SidecarChange['kind']>(
  change: SidecarChange,
  kind: K,
): asserts change is Extract<SidecarChange, { kind: K }> {
  assert.equal(change.kind, kind);
}

test('delays double up to a bound', () => {
  const delays = [0, 1, 2, 5, 6, 1000].map((restart) => delayBefore(restart, DEFAULT_POLICY));
  assert.deepEqual(delays, [200, 400, 800, 6400, 10_000, 10_000]);
});

test('a sidecar that is killed under a request: the next process answers', BOUND, async (t) => {
  const changes = new Changes();
  const asked = gate();
  let isStuck = true;
  const live = session('live', [user('in memory')]);
  const sidecar = await startSidecar(t, {
    onChange: changes.onChange,
    liveSessions: {
      list: () => [live.header],
      read: (id) => {
        if (id !== 'live') return null;
        asked.open();
        return isStuck ? NEVER : live;
      },
    },
  });
  const { pid } = sidecar;
  const inFlight = [prepared(sidecar, 'live'), prepared(sidecar, 'live', 'other')];
  await asked.opened;
  isStuck = false;
  process.kill(pid, 'SIGKILL');
  for (const call of inFlight) {
    await assert.rejects(call, (error: SidecarGoneError) => {
      assert.ok(error instanceof SidecarGoneError);
      assert.equal(error.retryable, true);
      assert.equal(error.message, 'the sidecar ended with signal SIGKILL');
      return true;
    });
  }
  // asked while there is none: it waits for the next one, to which our live sessions are known
  assert.deepEqual(await prepared(sidecar, 'live', 'other'), {
    live: ['in memory'],
    other: ['Send them monthly.'],
  });
  assert.notEqual(sidecar.pid, pid);
  const lost = await changes.next();
  assertKind(lost, 'lost');
  assert.equal(lost.restartInMs, SOON.firstDelayMs);
  const restarted = await changes.next();
  assertKind(restarted, 'restarted');
  assert.equal(restarted.pid, sidecar.pid);
  assert.deepEqual(await sidecar.close(), { code: 0, signal: null });
});

test('the limit of restarts ends it, and says so', BOUND, async (t) => {
  const changes = new Changes();
  const sidecar = await startSidecar(t, {
    onChange: changes.onChange,
    restart: { ...SOON, limit: 2 },
  });
  const delays: number[] = [];
  for (const _ of [1, 2]) {
    process.kill(sidecar.pid, 'SIGKILL');
    const lost = await changes.next();
    assertKind(lost, 'lost');
    delays.push(lost.restartInMs);
    assertKind(await changes.next(), 'restarted');
  }
  assert.deepEqual(delays, [10, 20]);
  process.kill(sidecar.pid, 'SIGKILL');
  const end = await changes.next();
  assertKind(end, 'gave-up');
  await assert.rejects(sidecar.status(), (error: SidecarUnavailableError) => {
    assert.equal(error, end.error);
    assert.equal(error.message, 'gave up after 2 restarts: the sidecar ended with signal SIGKILL');
    assert.equal(error.retryable, false);
    return true;
  });
  assert.equal(await sidecar.close(), undefined);
});

test('a process that lived long enough begins a new count', BOUND, async (t) => {
  const changes = new Changes();
  const sidecar = await startSidecar(t, {
    onChange: changes.onChange,
    restart: { ...SOON, limit: 1, steadyAfterMs: 0 },
  });
  for (const _ of [1, 2, 3]) {
    process.kill(sidecar.pid, 'SIGKILL');
    const lost = await changes.next();
    assertKind(lost, 'lost');
    assert.equal(lost.restartInMs, SOON.firstDelayMs);
    assertKind(await changes.next(), 'restarted');
  }
});

test('a restart that fails counts, and is tried again', BOUND, async (t) => {
  const changes = new Changes();
  const command = join(makeFolder(t), 'sessionref');
  symlinkSync(PROGRAM, command);
  const sidecar = await startSidecar(t, { command, onChange: changes.onChange });
  unlinkSync(command); // as an update of the program does
  process.kill(sidecar.pid, 'SIGKILL');
  const crash = await changes.next();
  assertKind(crash, 'lost');
  const waiting = prepared(sidecar, 'other');
  const failure = await changes.next();
  assertKind(failure, 'lost');
  assert.equal(failure.restartInMs, 2 * crash.restartInMs);
  assert.match(failure.error.message, /there is no such program/);
  symlinkSync(PROGRAM, command);
  assertKind(await changes.next(), 'restarted');
  assert.deepEqual(await waiting, { other: ['Send them monthly.'] });
});

test('a start that fails says why, and is not tried again', BOUND, async (t) => {
  const folder = makeFolder(t);
  const plain = join(folder, 'plain');
  writeFileSync(plain, 'no program\n', { mode: 0o644 });
  const missing = join(folder, 'missing');
  const cases: Record<string, [Partial<SidecarOptions>, RegExp]> = {
    'no such program': [{ command: missing }, /missing can't be started: there is no such program/],
    'not to be found': [{ command: 'no-such-sidecar' }, /no-such-sidecar .*no such program/],
    'no such folder': [{ cwd: missing }, /can't be started: the folder .*missing is missing/],
    'no program': [{ command: plain }, /plain can't be started: it may not be run/],
    'a NUL in it': [{ command: 'a\0b' }, /can't be started: .*null bytes/],
    'a bad flag': [{ args: ['--bad-flag'] }, /ended with exit code 2: .*--bad-flag/s],
    'a bad config': [{ config: { maxReferences: 4 } }, /refused `initialize`: Bad `config/],
    'no answer': [{ ...fake('mute'), startTimeoutMs: 300 }, /answer `initialize` within 300 ms/],
    'another version': [fake('future'), /speaks version 2 of the protocol, not 1/],
    'another program': [{ command: process.execPath, args: ['-p', '1'] }, /a line is no message/],
  };
  for (const [what, [wrong, expected]] of Object.entries(cases)) {
    const changes: SidecarChange[] = [];
    const start = Sidecar.start({
      command: PROGRAM,
      args: ['--root', folder, '--no-index'],
      env: CLEAN,
      onChange: (change) => changes.push(change),
      ...wrong,
    });
    await assert.rejects(
      start,
      (error: SidecarUnavailableError) => {
        assert.ok(error instanceof SidecarUnavailableError, what);
        assert.match(error.message, expected);
        assert.equal(error.retryable, false);
        return true;
      },
      what,
    );
    assert.deepEqual(changes, []);
  }
});

test('a sidecar that breaks the protocol is ended, and started anew', BOUND, async (t) => {
  for (const [mode, cause] of [
    ['garbage', ProtocolError],
    ['torn', undefined],
  ] as const) {
    const sidecar = await Sidecar.start({ ...fake(mode), restart: SOON });
    t.after(() => sidecar.close());
    const { pid } = sidecar;
    await assert.rejects(sidecar.status(), (error: SidecarGoneError) => {
      assert.ok(error instanceof SidecarGoneError);
      const expected = cause ? /SIGKILL: a line is no JSON$/ : /ended with exit code 3$/;
      assert.match(error.message, expected);
      if (cause) assert.ok(error.cause instanceof cause);
      return true;
    });
    const next = sidecar.parseText({ text: 'x'.repeat(1000) }); // what the new one says it takes
    await assert.rejects(next, LineTooLongError);
    assert.notEqual(sidecar.pid, pid);
  }
});

test('what it said last is in the error, and was passed on', BOUND, async (t) => {
  const heard: string[] = [];
  const onStderr = (text: string) => heard.push(text);
  const sidecar = await Sidecar.start({ ...fake('words'), restart: SOON, onStderr });
  t.after(() => sidecar.close());
  await assert.rejects(sidecar.status(), {
    message: 'the sidecar ended with exit code 4: it hurts',
  });
  assert.equal(heard.join(''), 'it hurts\n');
});

test('a process whose pipes are held by another is gone all the same', BOUND, async (t) => {
  let heir = '';
  const onStderr = (text: string) => (heir += text);
  const sidecar = await Sidecar.start({ ...fake('holder'), restart: SOON, onStderr });
  t.after(() => sidecar.close());
  t.after(() => process.kill(Number(heir), 'SIGKILL')); // throws if it did not live on
  await assert.rejects(sidecar.status(), /ended with exit code 5/);
});

test('a process that says nothing more is ended', BOUND, async (t) => {
  const sidecar = await Sidecar.start({ ...fake('hush'), restart: SOON });
  t.after(() => sidecar.close());
  await assert.rejects(sidecar.status(), { message: 'the sidecar ended with signal SIGKILL' });
});

test('the way out: shutdown, exit, and the end of its input', BOUND, async () => {
  let heard = '';
  const onStderr = (text: string) => (heard += text);
  const sidecar = await Sidecar.start({ ...fake('orderly'), onStderr });
  assert.deepEqual(await sidecar.close(), { code: 7, signal: null });
  assert.equal(heard, 'initialize shutdown exit ');
});

test('a process that does not leave is killed', BOUND, async (t) => {
  const sidecar = await Sidecar.start({ ...fake('stubborn'), closeTimeoutMs: 300 });
  const { pid } = sidecar;
  t.after(() => assert.throws(() => process.kill(pid, 'SIGKILL'), { code: 'ESRCH' }));
  const call = sidecar.status();
  const closed = sidecar.close();
  await assert.rejects(call, SidecarGoneError);
  assert.deepEqual(await closed, { code: null, signal: 'SIGKILL' });
});

test('closing ends the wait for a restart; an abort ends that of a call', BOUND, async (t) => {
  const changes = new Changes();
  const sidecar = await startSidecar(t, {
    root: makeRoot(t),
    onChange: changes.onChange,
    restart: { firstDelayMs: 120_000, maxDelayMs: 120_000 },
  });
  process.kill(sidecar.pid, 'SIGKILL');
  assertKind(await changes.next(), 'lost');
  const controller = new AbortController();
  const aborted = sidecar.status({ signal: controller.signal });
  const waiting = sidecar.status();
  controller.abort();
  await assert.rejects(aborted, { name: 'AbortError' });
  await assert.rejects(sidecar.status({ signal: controller.signal }), { name: 'AbortError' });
  sidecar.cancel('nobody');
  sidecar.sessionsChanged();
  const closed = sidecar.close();
  await assert.rejects(waiting, {
    name: 'SidecarUnavailableError',
    message: 'the sidecar was closed',
  });
  assert.equal(await closed, undefined);
});
