// A host that is about to die: it has a live session read from it, says half of it, and then says
// the pid of its sidecar to whoever will kill it.

import { Host, NEVER } from './host.mjs';
import { session, user } from './logs.mjs';

const { header, events } = session('half-told', [user('first half'), user('second half')]);
const host = new Host(process.argv[2], {
  'host/readLiveSession': ({ afterSeq }) =>
    afterSeq === undefined ? { header, events: events.slice(0, 1), nextSeq: 1 } : NEVER,
});
await host.initialize();
host.begin('prepare', {
  agent: { id: 'agent' },
  content: [],
  references: [{ sessionId: 'half-told' }],
});
await host.question('host/readLiveSession', 2);
console.log(host.process.pid);
await host.exited;
