// Sessions in the host's memory: told in pages, pushed, failing.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pageOf, type LiveSessions, type RpcError } from 'sessionref-host';

import {
  AGENT,
  BOUND,
  makeRoot,
  prepared,
  session,
  startSidecar,
  title,
  user,
  type StoredSession,
} from './support.js';

/** Sessions in memory, and what was asked of them. */
class Memory implements LiveSessions {
  readonly asked: string[] = [];

  constructor(
    readonly sessions: StoredSession[],
    readonly pageBytes?: number,
  ) {}

  get headers() {
    return this.sessions.map(({ header }) => header);
  }

  async list() {
    this.asked.push('list');
    return this.headers;
  }

  read(id: string, afterSeq?: number) {
    this.asked.push(`${id} after ${afterSeq}`);
    const found = this.sessions.find(({ header }) => header.id === id);
    return found ? pageOf(found.header, found.events, afterSeq, this.pageBytes) : null;
  }
}

test('pages hold what fits, and at least one event', () => {
  const { header, events } = session('s', ['a', 'b', 'ccc', 'd'].map(user));
  const size = Buffer.byteLength(JSON.stringify(events[0])) + 1;
  const overhead = Buffer.byteLength(JSON.stringify(header));
  const seqs = (afterSeq: number | undefined, bytes: number) => {
    const page = pageOf(header, events, afterSeq, overhead + bytes);
    assert.equal(page.header, header);
    return [page.events.map(({ seq }) => seq), page.nextSeq];
  };
  assert.deepEqual(seqs(undefined, 2 * size), [[0, 1], 2]);
  assert.deepEqual(seqs(undefined, 2 * size - 1), [[0], 1]);
  assert.deepEqual(seqs(1, 2 * size), [[2], 3]);
  assert.deepEqual(seqs(1, 1), [[2], 3]);
  assert.deepEqual(seqs(2, 1), [[3], undefined]);
  assert.deepEqual(seqs(3, 1), [[], undefined]);
  assert.deepEqual(pageOf(header, events).events, events);
  const sparse = events.filter(({ seq }) => seq % 2 === 1);
  assert.deepEqual(pageOf(header, sparse, 0, 1), { header, events: [sparse[0]], nextSeq: 3 });
});

test('a live session is read in pages, and wins over the disk', BOUND, async (t) => {
  const texts = Array.from({ length: 20 }, (_, index) => `message ${index}`);
  const memory = new Memory([session('login', texts.map(user))], 1000);
  const sidecar = await startSidecar(t, { liveSessions: memory });
  assert.deepEqual(await prepared(sidecar, 'login'), { login: texts });
  const reads = memory.asked.filter((each) => each.startsWith('login after'));
  assert.equal(reads[0], 'login after undefined');
  assert.ok(reads.length > 2 && new Set(reads).size === reads.length, reads.join());
});

test('candidates tell which sessions are live and at work', BOUND, async (t) => {
  const memory = new Memory([
    session('live', [user('x')], { title: 'Only here', running: true }),
    session('untitled', [user('x'), title('In its events')]),
  ]);
  const sidecar = await startSidecar(t, { liveSessions: memory });
  const { candidates } = await sidecar.listCandidates({ agent: AGENT });
  const told = candidates.map(({ label, live, running }) => [label, live, running]);
  assert.deepEqual(told.sort(), [
    ['Fix login 页面', false, undefined],
    ['In its events', true, undefined],
    ['Invoices', false, undefined],
    ['Only here', true, true],
  ]);
});

test('a host that pushes is not asked for the list', BOUND, async (t) => {
  const memory = new Memory([session('live', [user('x')], { title: 'Pushed' })]);
  const sidecar = await startSidecar(t, { liveSessions: memory });
  const labels = async () => {
    const { candidates } = await sidecar.listCandidates({ agent: AGENT, query: 'live' });
    return candidates.map(({ label }) => label);
  };
  sidecar.sessionsChanged(memory.headers);
  assert.deepEqual([await labels(), memory.asked], [['Pushed'], []]);
  sidecar.sessionsChanged([]);
  assert.deepEqual([await labels(), memory.asked], [[], []]);
  sidecar.sessionsChanged();
  assert.deepEqual([await labels(), memory.asked], [['Pushed'], ['list']]);
});

test('a host that fails fails that reading only, and may be asked again', BOUND, async (t) => {
  const memory = new Memory([session('live', [user('fine')])]);
  let isBroken = true;
  const sidecar = await startSidecar(t, {
    root: makeRoot(t),
    liveSessions: {
      list: () => memory.list(),
      read: (id, afterSeq) => {
        if (id === 'live' && isBroken) throw new Error('a secret of the host');
        return memory.read(id, afterSeq);
      },
    },
  });
  await assert.rejects(prepared(sidecar, 'live'), (error: RpcError) => {
    assert.deepEqual([error.code, error.data?.cause, error.retryable], [-32014, 'host', true]);
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
  assert.deepEqual(await prepared(sidecar, 'other'), { other: ['Send them monthly.'] });
  isBroken = false;
  assert.deepEqual(await prepared(sidecar, 'live'), { live: ['fine'] });
});

test('a host without live sessions is not asked', BOUND, async (t) => {
  const sidecar = await startSidecar(t);
  await assert.rejects(prepared(sidecar, 'live'), (error: RpcError) => {
    assert.equal(error.data?.cause, 'not_found');
    return true;
  });
});
