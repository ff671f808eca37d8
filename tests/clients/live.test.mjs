// Live sessions, over real pipes, with a host that is not written in Python.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { Host, Memory, NEVER } from './host.mjs';
import { CWD, mark, session, store, title, user } from './logs.mjs';

const AGENT = { id: 'agent', cwd: CWD };
const LIST = 'host/listLiveSessions';
const READ = 'host/readLiveSession';
const BOUND = { timeout: 30_000 };
const GONE_WITHIN = 10_000;

const BOTH = [user('as stored'), title('As stored')];
const STORED = session('stored', [user('only on disk'), title('Stored')]);

/** A root with two sessions; it is removed when the test is over. */
function makeRoot(t) {
  const root = mkdtempSync(join(tmpdir(), 'sessionref-live-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  store(root, session('both', BOTH));
  store(root, STORED);
  return root;
}

/** A host that answers with handlers, or with a memory's sessions; it ends with the test. */
async function startHost(t, handlers, root = makeRoot(t)) {
  const host = new Host(root, handlers instanceof Memory ? handlers.handlers : handlers);
  t.after(() => host.process.kill('SIGKILL'));
  await host.initialize();
  return host;
}

function prepareParams(...ids) {
  const references = ids.map((sessionId) => ({ sessionId }));
  return { agent: AGENT, content: [], references };
}

/** What a result of `prepare` quotes: for each session its texts and its last seq. */
function quoted({ additionalContext }) {
  const [block] = additionalContext.content;
  const [, json] = /<referenced-sessions>\n(.*)\n<\/referenced-sessions>$/s.exec(block.text);
  return JSON.parse(json).map(({ sessionId, capturedThroughSeq, conversation }) => ({
    sessionId,
    through: capturedThroughSeq,
    texts: conversation.map(({ text }) => text),
  }));
}

function failedBecause(cause, sessionId) {
  return ({ code, data }) => {
    assert.deepEqual(
      { code, name: data.code, cause: data.cause, sessionId: data.sessionId },
      { code: -32014, name: 'SESSION_REFERENCE_READ_FAILED', cause, sessionId },
    );
    assert.equal(data.retryable, cause === 'host');
    return true;
  };
}

function byId({ candidates }) {
  return Object.fromEntries(candidates.map((candidate) => [candidate.sessionId, candidate]));
}

test('a live session beats its log on disk', BOUND, async (t) => {
  const host = await startHost(t, new Memory([session('both', [user('as it is now')])]));
  const result = await host.call('prepare', prepareParams('both'));
  assert.deepEqual(quoted(result), [{ sessionId: 'both', through: 0, texts: ['as it is now'] }]);
  assert.equal(await host.end(), 0);
});

test('a session that is live only, and one that is on disk only', BOUND, async (t) => {
  const host = await startHost(t, new Memory([session('live', [user('in memory')])]));
  const result = await host.call('prepare', prepareParams('live', 'stored'));
  assert.deepEqual(quoted(result), [
    { sessionId: 'live', through: 0, texts: ['in memory'] },
    { sessionId: 'stored', through: 1, texts: ['only on disk'] },
  ]);
  await assert.rejects(
    host.call('prepare', prepareParams('nowhere')),
    failedBecause('not_found', 'nowhere'),
  );
});

test('candidates say where a session is and whether it runs', BOUND, async (t) => {
  const memory = new Memory([
    session('both', BOTH, { title: 'As it is now', running: true }),
    session('live', [], { title: 'Only live', running: false }),
  ]);
  const host = await startHost(t, memory);
  const result = await host.call('listCandidates', { agent: AGENT });
  const told = Object.values(byId(result)).map(({ sessionId, label, live, persisted, running }) => [
    sessionId, label, live, persisted, running,
  ]);
  assert.deepEqual(told, [
    ['both', 'As it is now', true, true, true],
    ['live', 'Only live', true, false, false],
    ['stored', 'Stored', false, true, undefined],
  ]);
  assert.equal(result.isIncomplete, false);
  assert.deepEqual(host.asked.map(({ method }) => method), [LIST]);
});

test('headers that contradict are a conflict for that session only', BOUND, async (t) => {
  const memory = new Memory([
    session('both', [user('another one')], { cwd: '/elsewhere' }),
    session('live', [user('fine')]),
  ]);
  const host = await startHost(t, memory);
  const listed = byId(await host.call('listCandidates', { agent: AGENT }));
  assert.deepEqual(Object.keys(listed).sort(), ['both', 'live', 'stored']);
  await assert.rejects(
    host.call('prepare', prepareParams('both')),
    failedBecause('conflict', 'both'),
  );
  const [live, stored] = quoted(await host.call('prepare', prepareParams('live', 'stored')));
  assert.deepEqual([live.texts, stored.texts], [['fine'], ['only on disk']]);
});

test('a long session comes in pages, without its log-only events', BOUND, async (t) => {
  const turns = Array.from({ length: 25 }, (_, turn) => [
    mark('turn/start'), user(`message ${turn}`), mark('turn/end'),
  ]);
  const host = await startHost(t, new Memory([session('live', turns.flat())], 4));
  const [snapshot] = quoted(await host.call('prepare', prepareParams('live')));
  assert.deepEqual(snapshot.texts, Array.from({ length: 25 }, (_, turn) => `message ${turn}`));
  assert.equal(snapshot.through, 73);
  const after = host.asked.map(({ params }) => params.afterSeq);
  assert.deepEqual(after, [undefined, 10, 22, 34, 46, 58, 70]);
});

test('nothing closes the turn of a live session that is at work', BOUND, async (t) => {
  const rows = [mark('turn/start'), mark('step/start'), user('go on')];
  const { header, events } = session('live', rows);
  const host = await startHost(t, { [READ]: () => ({ header, events }) });
  const [snapshot] = quoted(await host.call('prepare', prepareParams('live')));
  assert.deepEqual([snapshot.through, snapshot.texts], [2, ['go on']]);
});

test('a page that contradicts the one before fails that read', BOUND, async (t) => {
  const { header, events } = session('live', [user('one'), user('two')]);
  const seconds = {
    'repeats': { header, events },
    'leads nowhere': { header, events: [], nextSeq: 1 },
    'is of another session': { header: { ...header, id: 'other' }, events: [] },
    'is of another format': { header: { ...header, version: 3 }, events: [] },
    'is none': null,
  };
  for (const [what, second] of Object.entries(seconds)) {
    await t.test(what, BOUND, async (t) => {
      const first = { header, events: events.slice(0, 1), nextSeq: 1 };
      const host = await startHost(t, {
        [READ]: ({ afterSeq }) => (afterSeq === undefined ? first : second),
      });
      await assert.rejects(
        host.call('prepare', prepareParams('live')),
        failedBecause('host', 'live'),
      );
      assert.equal(host.asked.length, 2);
    });
  }
});

test('an error of the host is the cause, and its words stay where they are', BOUND, async (t) => {
  const handlers = { [READ]: () => { throw new Error('a secret of the host'); } };
  const host = await startHost(t, handlers);
  const failure = await host.call('prepare', prepareParams('both')).catch((error) => error);
  failedBecause('host', 'both')(failure);
  assert.doesNotMatch(failure.message, /secret/);
});

test('a host that never answers can not stall a cancelled request', BOUND, async (t) => {
  const host = await startHost(t, { [READ]: () => NEVER });
  const { id, answered } = host.begin('prepare', prepareParams('both'));
  const question = await host.question(READ);
  host.notify('$/cancelRequest', { id });
  await assert.rejects(answered, { code: -32800 });
  await host.withdrawal(question.id);
  assert.equal((await host.call('status')).requestsInFlight, 0);
});

test('a host that never lists: what is persisted is answered in time', BOUND, async (t) => {
  const host = await startHost(t, { [LIST]: () => NEVER });
  const result = await host.call('listCandidates', { agent: AGENT, deadlineMs: 3000 });
  assert.equal(result.isIncomplete, true);
  assert.deepEqual(Object.keys(byId(result)).sort(), ['both', 'stored']);
  const [question] = host.asked;
  await host.withdrawal(question.id);
});

test('a read that hangs does not hold up another', BOUND, async (t) => {
  const memory = new Memory([session('live', [user('fine')], { title: 'Live' })]);
  const read = ({ sessionId, ...rest }) =>
    sessionId === 'stuck' ? NEVER : memory.page({ sessionId, ...rest });
  const host = await startHost(t, { ...memory.handlers, [READ]: read });
  const { id, answered } = host.begin('prepare', prepareParams('stuck'));
  await host.question(READ);
  const [live] = quoted(await host.call('prepare', prepareParams('live')));
  assert.deepEqual(live.texts, ['fine']);
  assert.equal((await host.call('listCandidates', { agent: AGENT })).total, 3);
  host.notify('$/cancelRequest', { id });
  await assert.rejects(answered, { code: -32800 });
});

test('a host that pushes is not asked again', BOUND, async (t) => {
  const memory = new Memory([session('live', [user('fine')], { title: 'One' })]);
  const host = await startHost(t, memory);
  const label = async () => byId(await host.call('listCandidates', { agent: AGENT })).live?.label;
  host.notify('sessions/changed', { sessions: memory.headers });
  assert.deepEqual([await label(), await label()], ['One', 'One']);
  const [stored] = quoted(await host.call('prepare', prepareParams('stored')));
  assert.deepEqual(stored.texts, ['only on disk']);
  assert.deepEqual(host.asked, []);
  host.notify('sessions/changed', { sessions: [] });
  assert.equal(await label(), undefined);
  assert.deepEqual(host.asked, []);
  host.notify('sessions/changed');
  assert.deepEqual([await label(), await label()], ['One', 'One']);
  assert.deepEqual(host.asked.map(({ method }) => method), [LIST]);
});

test('a host that says no more half-way is not waited for', BOUND, async (t) => {
  const { header, events } = session('both', [user('first half'), user('second half')]);
  const host = await startHost(t, {
    [READ]: ({ afterSeq }) =>
      afterSeq === undefined ? { header, events: events.slice(0, 1), nextSeq: 1 } : NEVER,
  });
  const { answered } = host.begin('prepare', prepareParams('both'));
  await host.question(READ, 2);
  const code = host.end();
  await assert.rejects(answered, failedBecause('host', 'both'));
  assert.equal(await code, 0);
});

test('the sidecar of a host process that dies half-way is gone soon', BOUND, async (t) => {
  const script = fileURLToPath(new URL('doomed.mjs', import.meta.url));
  const doomed = spawn(process.execPath, [script, makeRoot(t)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => doomed.kill('SIGKILL'));
  const [said] = await once(doomed.stdout, 'data');
  const pid = Number(said);
  assert.ok(pid > 0 && isAlive(pid));
  const started = Date.now();
  doomed.kill('SIGKILL');
  while (isAlive(pid)) {
    assert.ok(Date.now() - started < GONE_WITHIN, `process ${pid} outlives its host`);
    await pause(10);
  }
});

/** Whether a process runs. One that has ended and that nobody has asked for its code does not. */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return !existsSync('/proc/self'); // gone meanwhile, or there is no /proc to look at
  }
}
